/** The queues of one durable handler at the server. None of them loses an event. */
import type { DriverChannel, QueueSettings } from '../driver.ts'
import {
  bindingOf,
  exchangeOf,
  GROUPS,
  queueOfDead,
  queueOfGroup,
  queueOfMembers,
  queueOfPaused,
  STORED
} from '../words/names.ts'

/**
 * A number of deliveries that is never reached. It must be set, because RabbitMQ 4 drops a message after 20
 * deliveries by default.
 */
const ANY_NUMBER = 2 ** 31 - 1

/** The options of a queue that must not lose an event. */
export function safeQueue(more?: Readonly<Record<string, unknown>>): QueueSettings {
  const safe = { 'x-queue-type': 'quorum', 'x-overflow': 'reject-publish', 'x-delivery-limit': ANY_NUMBER }
  return { durable: true, arguments: { ...safe, ...more } }
}

/** Declares a queue that must not lose an event, and to which copies can be published. */
export async function declareSafe(
  channel: DriverChannel,
  group: string,
  queue: string,
  more?: Readonly<Record<string, unknown>>
): Promise<void> {
  await channel.declareQueue(queue, safeQueue(more))
  await channel.bindQueue(queue, exchangeOf(group), queue)
}

/** A durable handler, as its queues show it. */
export interface QueuesOf {
  readonly group: string
  /** The address of its pattern. */
  readonly pattern: string
  readonly ordered: boolean
  /** The queues in which its events wait for their next attempts. */
  readonly pauses: readonly string[]
}

/** Creates the queues of a handler that are missing, those of its group included. */
export async function declareQueues(channel: DriverChannel, queues: QueuesOf): Promise<void> {
  const { group, pattern, ordered, pauses } = queues
  await channel.declareExchange(exchangeOf(group), 'direct')
  for (const name of [...pauses, queueOfDead(group)]) await declareSafe(channel, group, name)
  for (const name of [queueOfMembers(group), queueOfPaused(group)])
    await channel.declareQueue(name, safeQueue())
  await channel.bindQueue(queueOfPaused(group), GROUPS, queueOfPaused(group))
  const queue = queueOfGroup(group, pattern)
  await declareSafe(channel, group, queue, ordered ? { 'x-single-active-consumer': true } : {})
  await channel.bindQueue(queue, STORED, bindingOf(pattern))
}

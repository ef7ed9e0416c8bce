/**
 * Reports the queues that a renamed service, or a removed handler, has left behind: RabbitMQ goes on storing events in
 * them. RabbitMQ does not tell clients which queues exist, so each durable handler is noted in one queue.
 */
import { type Logger, shown } from '@elysia-microservices/transport/kit'
import type { Link } from '../connection/link.ts'
import type { DriverChannel, Received } from '../driver.ts'
import { HANDLERS, INBOXES, queueOfGroup, queueOfPaused } from '../words/names.ts'
import { safeQueue } from './queues.ts'

/** A durable handler. */
export interface KnownHandler {
  readonly group: string
  /** The address of its pattern. */
  readonly pattern: string
}

interface Note extends KnownHandler {
  readonly message: Received
}

/**
 * Notes the handlers of a service, and logs a line for each queue that may be left behind. Does nothing if the user has
 * no right to the notes.
 */
export async function sayWhatIsLeftBehind(
  link: Link,
  ours: readonly KnownHandler[],
  logger: Logger
): Promise<void> {
  await link.aside(async (channel) => {
    const { notes, spoilt } = await readNotes(channel, await haveNotes(link, channel))
    for (const one of ours)
      if (!notes.some((note) => isSame(note, one)))
        channel.publish(INBOXES, HANDLERS, Buffer.from(JSON.stringify(one)), { persistent: true })
    await channel.confirmed()
    for (const note of suspects(notes, ours)) {
      const state = await stateOf(link, note)
      if (state === 'gone') spoilt.push(note.message)
      else if (state !== undefined) logger.warn(lineAbout(note, state, ours))
    }
    for (const message of spoilt) channel.acknowledge(message.fields.deliveryTag)
    // The other notes go back to their queue when the channel is closed.
    await channel.prefetch(1)
  })
}

/** The noted handlers that ours may have replaced: of the same pattern, or of the same group. */
export function suspects<Handler extends KnownHandler>(
  notes: readonly Handler[],
  ours: readonly KnownHandler[]
): Handler[] {
  return notes.filter(
    (note) =>
      !ours.some((one) => isSame(note, one)) &&
      ours.some(({ group, pattern }) => note.pattern === pattern || note.group === group)
  )
}

function isSame(one: KnownHandler, other: KnownHandler): boolean {
  return one.group === other.group && one.pattern === other.pattern
}

/** Makes the queue of the notes if it is missing. @returns the number of notes in it */
async function haveNotes(link: Link, channel: DriverChannel): Promise<number> {
  let count = 0
  try {
    count = (await link.aside((other) => other.checkQueue(HANDLERS))).messageCount
  } catch {
    await channel.declareQueue(HANDLERS, safeQueue())
  }
  // Another service may have made the queue a moment ago, and not bound it yet: a note would be lost.
  if (count === 0) await channel.bindQueue(HANDLERS, INBOXES, HANDLERS)
  return count
}

/**
 * Reads all notes, which stay in their queue unless they are acknowledged. An empty queue is not read: for reading a
 * queue that another service has just made, and that no server leads yet, RabbitMQ 3.10 ends the whole connection.
 */
async function readNotes(
  channel: DriverChannel,
  count: number
): Promise<{ notes: Note[]; spoilt: Received[] }> {
  const notes: Note[] = []
  const spoilt: Received[] = []
  for (let n = 0; n < count; n++) {
    const message = await channel.get(HANDLERS)
    if (message === undefined) break
    const note = readNote(message)
    // Two processes may have noted one handler at the same time.
    if (note === undefined || notes.some((one) => isSame(one, note))) spoilt.push(message)
    else notes.push(note)
  }
  return { notes, spoilt }
}

function readNote(message: Received): Note | undefined {
  try {
    const { group, pattern } = JSON.parse(message.content.toString()) as Partial<KnownHandler>
    return typeof group === 'string' && typeof pattern === 'string' ? { group, pattern, message } : undefined
  } catch {
    return undefined
  }
}

/** The events in the queue of a handler that no process handles; `undefined`: one does, or the group is paused. */
async function stateOf(link: Link, { group, pattern }: KnownHandler): Promise<number | 'gone' | undefined> {
  try {
    const look = (queue: string) => link.aside((channel) => channel.checkQueue(queue))
    const { consumerCount, messageCount } = await look(queueOfGroup(group, pattern))
    if (consumerCount > 0 || (await look(queueOfPaused(group))).messageCount > 0) return undefined
    return messageCount
  } catch (error) {
    return /404|NOT.FOUND/.test((error as Error).message) ? 'gone' : undefined
  }
}

function lineAbout({ group, pattern }: KnownHandler, events: number, ours: readonly KnownHandler[]): string {
  const queue = queueOfGroup(group, pattern)
  const isOurs = ours.some((one) => one.group === group)
  const remedy = isOurs
    ? 'If the handler was removed,'
    : `If the service was renamed, give its handler durable.group '${shown(group)}', or`
  return `The group '${shown(group)}' stores the events '${shown(pattern)}', and no process handles them at the moment (${events} wait). ${remedy} delete the queue when nobody needs it: rabbitmqctl delete_queue '${shown(queue)}'`
}

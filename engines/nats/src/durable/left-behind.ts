/** The lines of the log at the start of a group about events that wait for others. */
import { type DurableSettings, type Logger, shown, skippedAtStart } from '@elysia-microservices/transport/kit'
import type { ConsumerInfo } from '@nats-io/jetstream'
import type { JetStream } from '../driver.ts'
import { covers } from './streams.ts'

interface NewGroup {
  /** The consumer of the group. */
  readonly info: ConsumerInfo
  readonly group: string
  readonly start: DurableSettings['start']
  readonly logger: Logger
}

/** Logs how many events are stored that a new group does not get, because it begins with new ones. */
export async function sayWhatIsSkipped(
  jetStream: JetStream,
  { info, group, logger }: NewGroup
): Promise<void> {
  const { filter_subject: subject = '>' } = info.config
  const { state } = await jetStream.stream(info.stream_name, subject)
  const count = Object.values(state.subjects ?? {}).reduce((sum, events) => sum + events, 0)
  if (count > 0) logger.warn(skippedAtStart(group, subject, count))
}

/**
 * Logs the consumers of a stream that may have done the work of a new consumer: the consumer of the same pattern for a
 * service that was renamed, or of the same group for a wider pattern.
 */
export async function sayWhatIsLeftBehind(jetStream: JetStream, made: NewGroup): Promise<void> {
  const { info, logger } = made
  try {
    for await (const other of jetStream.consumers(info.stream_name)) {
      const line = other.name === info.name ? undefined : lineAbout(other, made)
      if (line !== undefined) logger.warn(line)
    }
  } catch (error) {
    logger.warn(
      `The other consumers of the stream '${info.stream_name}' cannot be listed, so unused consumers are not reported`,
      error
    )
  }
}

/** The line about another consumer; `undefined`: none. */
export function lineAbout(other: ConsumerInfo, { info, group, start }: NewGroup): string | undefined {
  const { name, config, num_waiting: waiting, num_pending, num_ack_pending: handled } = other
  const its = config.metadata?.['elysia-group']
  // A request that waits for events belongs to a process of the group.
  if (its === undefined || waiting > 0) return undefined
  const events = num_pending + handled
  const filter = config.filter_subject ?? ''
  const subject = info.config.filter_subject ?? ''
  // Events that are being handled have a process: all of its handlers may be busy, so that it requests no further ones.
  const isIdle = handled === 0
  const remedy = isIdle
    ? `If nobody needs it any more, delete it: nats consumer rm ${info.stream_name} ${name}`
    : 'Its processes may be busy at the moment'
  if (its !== group && filter === subject && events > 0 && start !== 'all')
    return `${events} events '${shown(subject)}' wait for the group '${shown(its)}'${isIdle ? ', which no process handles at the moment' : ''}; the group '${group}' is new and does not get them. If a service was renamed, give its handler durable.group '${shown(its)}'. ${remedy}`
  if (its === group && filter !== subject && covers(filter, subject))
    return `The group '${group}' handled '${shown(filter)}' until now, and handles '${shown(subject)}' from now on: the consumer '${name}' remains with ${events} events that nobody handles. ${remedy}`
  return undefined
}

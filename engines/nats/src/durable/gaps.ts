/**
 * Tells of events that the limits of their stream have deleted while a group was away. In a stream of several subjects
 * JetStream does not say whose messages are gone, so a group that leaves notes how far it has nothing to do: without the
 * note, a group whose events are rare would be warned each time.
 */
import { type Logger, shown } from '@elysia-microservices/transport/kit'
import { type ConsumerConfig, type ConsumerInfo, RetentionPolicy, type StreamInfo } from '@nats-io/jetstream'
import type { JetStream } from '../driver.ts'
import type { Subscription } from './names.ts'

/** The entry of a consumer's metadata with the position up to which its group had nothing to do. */
const SEEN = 'elysia-seen'

/** Logs the events that are gone. @param stream as it was before its consumer was asked */
export function sayWhatWasDeleted(
  stream: StreamInfo,
  consumer: ConsumerInfo,
  group: string,
  logger: Logger
): void {
  const { config, state } = stream
  if (config.retention !== RetentionPolicy.Limits) return
  const { filter_subject: subject = '' } = consumer.config
  if (isOnlyOne(stream, subject)) {
    const count = deletedOf(stream, consumer)
    if (count > 0)
      logger.error(
        `${count} events '${shown(subject)}' that the group '${group}' had not handled were deleted, because the stream '${config.name}' keeps events no longer (maxAge, or another of its limits); the group goes on at position ${state.first_seq}`
      )
  } else if (mayLack(stream, consumer))
    logger.warn(
      `The stream '${config.name}' has deleted messages since the group '${group}' was last there (maxAge, or another of its limits), perhaps events '${shown(subject)}', too: the stream has several subjects, and does not tell which. It begins at position ${state.first_seq}`
    )
}

/** Whether a group needs notes how far it has nothing to do: its stream has several subjects, and deletes messages. */
export function needsNotes(stream: StreamInfo, subject: string): boolean {
  return !isOnlyOne(stream, subject) && stream.config.retention === RetentionPolicy.Limits
}

/** Whether the stream has no other messages than those of a subject. */
function isOnlyOne({ config: { subjects } }: StreamInfo, subject: string): boolean {
  return subjects.length === 1 && subjects[0] === subject
}

/** The number of events that are neither done nor there. */
function deletedOf({ state }: StreamInfo, { delivered, ack_floor, num_pending }: ConsumerInfo): number {
  const { stream_seq: last } = delivered
  const undone = Math.max(0, Math.min(last, state.first_seq - 1) - ack_floor.stream_seq)
  // Also those that a limit for each subject has deleted among others.
  return undone + Math.max(0, state.last_seq - Math.max(last, ack_floor.stream_seq) - num_pending)
}

function mayLack({ config, state }: StreamInfo, consumer: ConsumerInfo): boolean {
  // A process of the group is there.
  if (consumer.num_waiting > 0) return false
  const seen = Math.max(consumer.delivered.stream_seq, Number(consumer.config.metadata?.[SEEN] ?? 0))
  const most = config.max_msgs_per_subject
  return state.first_seq - 1 > seen || (most > 0 && consumer.num_pending >= most)
}

/** Notes, for a group that leaves, up to which position of a stream of several subjects it has nothing to do. */
export async function noteSeen(jetStream: JetStream, { stream, consumer }: Subscription): Promise<void> {
  const known = await jetStream.stream(stream)
  const { config, num_pending, num_ack_pending } = await jetStream.consumer(stream, consumer)
  if (num_pending + num_ack_pending > 0) return
  const metadata = { ...config.metadata, [SEEN]: String(known.state.last_seq) }
  await jetStream.updateConsumer(stream, consumer, { ...config, metadata } as ConsumerConfig)
}

/** The names of this library in JetStream: of streams, subjects, consumers and headers. */
import { createHash } from 'node:crypto'
import { OptionError } from '@elysia-microservices/transport/kit'

/** The stream of the dead letters of all groups. Their subjects are `_ELYSIA.DEAD.<group>.<consumer>`. */
export const DEAD_STREAM = 'elysia-dead-letters'
export const DEAD = '_ELYSIA.DEAD'
/** The stream of redriven dead letters. Their subjects are `_ELYSIA.AGAIN.<consumer>`. */
export const AGAIN_STREAM = 'elysia-redriven'
export const AGAIN = '_ELYSIA.AGAIN'
/**
 * The stream of events that wait for their time. Each waits at `_ELYSIA.LATER.<hash of its id>.<pattern>`. When its time
 * has come, the server puts it to `_ELYSIA.DUE.<pattern>`, and tells that at `_ELYSIA.WAKE.<pattern>`.
 */
export const LATER_STREAM = 'elysia-later'
export const LATER = '_ELYSIA.LATER'
export const DUE = '_ELYSIA.DUE'
export const WAKE = '_ELYSIA.WAKE'

/** The headers that this library adds to those of the user. */
export const HEADER = {
  id: 'Nats-Msg-Id',
  key: 'Elysia-Key',
  /** Of dead letters and redriven events: the values of the original event. */
  subject: 'Elysia-Subject',
  ownId: 'Elysia-Id',
  position: 'Elysia-Position',
  publishedAt: 'Elysia-Published-At',
  reason: 'Elysia-Reason',
  attempts: 'Elysia-Attempts',
  consumer: 'Elysia-Consumer',
  group: 'Elysia-Group',
  /** Of dead letters: the names of the parts that were too large to be kept. */
  leftOut: 'Elysia-Left-Out'
} as const

/** Headers with which NATS is told what to do with a message. */
export const TOLD = {
  schedule: 'Nats-Schedule',
  target: 'Nats-Schedule-Target',
  /** The number of the message that the subject has now; 0: it has none. */
  expected: 'Nats-Expected-Last-Subject-Sequence',
  rollup: 'Nats-Rollup',
  ttl: 'Nats-TTL'
} as const

/** A consumer of a stream, by name. */
export interface Subscription {
  readonly stream: string
  readonly consumer: string
}

/** An id as the value of a header. NATS would trim blanks, so such ids are encoded; different ids stay different. */
export function idToHeader(id: string): string {
  return /^[!-$&-~]+$/.test(id) ? id : encodeURIComponent(id)
}

/** The id in a header. An id that another program wrote in its own way is returned as it is. */
export function idFromHeader(value: string): string {
  if (!value.includes('%')) return value
  try {
    const id = decodeURIComponent(value)
    return idToHeader(id) === value ? id : value
  } catch {
    return value
  }
}

/** The text in a header of this library; a text that another program wrote in its own way is returned as it is. */
export function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** The name of the stream for a pattern that no configured stream stores. Different patterns have different names. */
export function streamName(subject: string): string {
  return nameOf(subject)
}

/** The name of the consumer of a group for a pattern. */
export function consumerName(group: string, subject: string): string {
  return nameOf(`${group}.${subject}`)
}

/**
 * A name with only the characters that NATS allows; different texts have different names. No other name has two
 * underscores, because no segment of a pattern is empty.
 */
function nameOf(text: string): string {
  const plain = text
    .replaceAll('.', '_')
    .replaceAll('*', 'any')
    .replaceAll('>', 'rest')
    .replace(/[^A-Za-z0-9_-]/g, '-')
  const isPlain = /^[A-Za-z0-9.-]+$/.test(text) && text.length <= 100
  return isPlain ? plain : `${plain.slice(0, 100)}__${hash(text)}`
}

/** A hash of 128 bits. */
function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** The subject at which an event waits for its time. */
export function waitingSubject(address: string, id: string): string {
  return `${LATER}.${hash(id)}.${address}`
}

/** @throws {OptionError} JetStream cannot store events of such a pattern */
export function checkDurableSubject(subject: string): void {
  if (/^[$_*>]/.test(subject))
    throw new OptionError(
      'pattern',
      `The event '${subject}' cannot be durable over NATS: its first part must be a text that does not begin with $ or _`
    )
}

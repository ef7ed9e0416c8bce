/** The names that we give in JetStream: of streams, subjects, consumers and headers. */
import { OptionError } from '@elysia-microservices/transport/kit'

/** Dead letters of all groups: `_ELYSIA.DEAD.<group>.<consumer>`. */
export const DEAD_STREAM = 'elysia-dead-letters'
export const DEAD = '_ELYSIA.DEAD'
/** Dead letters on their way back to their group: `_ELYSIA.AGAIN.<consumer>`. */
export const AGAIN_STREAM = 'elysia-redriven'
export const AGAIN = '_ELYSIA.AGAIN'

/** Headers beside the user's. */
export const HEADER = {
  id: 'Nats-Msg-Id',
  key: 'Elysia-Key',
  /** Of dead letters and of what is redriven: what the event was when it was published. */
  subject: 'Elysia-Subject',
  ownId: 'Elysia-Id',
  position: 'Elysia-Position',
  publishedAt: 'Elysia-Published-At',
  reason: 'Elysia-Reason',
  attempts: 'Elysia-Attempts',
  consumer: 'Elysia-Consumer',
  group: 'Elysia-Group',
  /** Of dead letters: what was too large to be kept. */
  leftOut: 'Elysia-Left-Out'
} as const

/** An id as a header's value, which NATS would trim: different ids stay different. */
export function idToHeader(id: string): string {
  return /^[!-$&-~]+$/.test(id) ? id : encodeURIComponent(id)
}

/** The id in a header. One that another program gave, and that we would have written otherwise, is as it is. */
export function idFromHeader(value: string): string {
  if (!value.includes('%')) return value
  try {
    const id = decodeURIComponent(value)
    return idToHeader(id) === value ? id : value
  } catch {
    return value
  }
}

/** The text in one of our headers; what strangers wrote otherwise is as it is. */
export function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** The stream of a pattern that no other stream stores. Different patterns have different names. */
export function streamName(subject: string): string {
  return nameOf(subject)
}

/** The consumer of a group and pattern; also the durable name in its stream. */
export function consumerName(group: string, subject: string): string {
  return nameOf(`${group}.${subject}`)
}

/** A name in characters that NATS allows; different texts have different names. */
function nameOf(text: string): string {
  const plain = text
    .replaceAll('.', '_')
    .replaceAll('*', 'any')
    .replaceAll('>', 'rest')
    .replace(/[^A-Za-z0-9_-]/g, '-')
  const isPlain = /^[A-Za-z0-9.-]+$/.test(text) && text.length <= 100
  return isPlain ? plain : `${plain.slice(0, 100)}-${hash(text)}`
}

/** FNV-1a, 64 bits in two halves of different start. */
function hash(text: string): string {
  let one = 0x811c9dc5
  let other = 0x01000193
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    one = Math.imul(one ^ code, 0x01000193)
    other = Math.imul(other ^ code, 0x85ebca6b)
  }
  return (one >>> 0).toString(16).padStart(8, '0') + (other >>> 0).toString(16).padStart(8, '0')
}

/** @throws {OptionError} JetStream cannot store events of such a pattern */
export function checkDurableSubject(subject: string): void {
  if (/^[$_*>]/.test(subject))
    throw new OptionError(
      'pattern',
      `The event '${subject}' cannot be durable over NATS: its first part must be a text that does not begin with $ or _`
    )
}

/**
 * The names of channels in Redis. NestJS uses the patterns themselves, and `<pattern>.reply`. The channels of this
 * library begin with `_elysia:`, so that clients and services of NestJS never receive a message of this library's
 * protocol.
 */

/** The prefix of all channels of this library. */
const OURS = '_elysia:'
/** The channel that all services read. A caller that has heard nothing of a call asks here about the call. */
export const EVERYONE = `${OURS}everyone`
/** The channel on which processes of services announce that they have started or are stopping. */
export const CHANGES = `${OURS}changes`
const INBOX = `${OURS}i:`
const SERVICE = `${OURS}s:`
/** The channels of all services, as an argument of PUBSUB CHANNELS. */
export const ALL_SERVICES = `${SERVICE}*`

/**
 * The prefix of an address that is for services of this library only, because the message has several requests
 * together.
 */
export const TOGETHER = `${OURS}t:`
/**
 * The prefix of an address at which a NestJS client waits for an answer. A message of a channel may not name such an
 * address.
 */
export const NEST_ANSWER = `${OURS}n:`
const REPLY = '.reply'

/** The channel on which NestJS clients wait for the answers to requests on a channel. */
export function answersOf(channel: string): string {
  return channel + REPLY
}

/**
 * The address of a new inbox, with a dot at its end. @param secret a text that nobody can guess @param prefix the
 * option `inboxPrefix`
 */
export function inboxOf(secret: string, prefix: string | undefined): string {
  return prefix === undefined ? `${INBOX}${secret}.` : `${INBOX}${prefix}:${secret}.`
}

/** Whether a text may be the prefix of inboxes. */
export function isInboxPrefix(prefix: unknown): boolean {
  return typeof prefix === 'string' && /^[A-Za-z0-9_]{1,64}$/.test(prefix)
}

/** Whether an address belongs to an inbox of this library. */
export function isInbox(address: string): boolean {
  return address.startsWith(INBOX) && /^(\w{1,64}:)?[a-z2-7]{12,}\.[!-~]+$/.test(address.slice(INBOX.length))
}

/** The channel of an inbox: an address up to its first dot. */
export function channelOfInbox(address: string): string {
  return address.slice(0, address.indexOf('.'))
}

/**
 * Whether a channel is hidden from handlers of all patterns: a channel of this library, or one for answers of NestJS.
 */
export function isOfSystem(channel: string): boolean {
  return channel.startsWith(OURS) || channel.endsWith(REPLY)
}

/** A subscription of one process of a service. */
export interface Place {
  readonly channel: string
  /** The pattern of the handler. */
  readonly pattern: string
  /** The queue whose processes share messages; empty: none. */
  readonly queue: string
  /** The id of the process. */
  readonly id: string
  /** Whether requests may be sent to the channel. */
  readonly answers: boolean
}

/** The channel on which one process receives the messages of a pattern. */
export function placeOf(pattern: string, queue: string | undefined, id: string, answers: boolean): Place {
  const name = queue ?? ''
  const channel = `${SERVICE}${answers ? 'm' : 'e'}:${encodeURIComponent(name)}:${id}:${pattern}`
  return { channel, pattern, queue: name, id, answers }
}

/** Reads the name of such a channel; `undefined`: the name is not one. */
export function readPlace(channel: string): Place | undefined {
  const parts = /^_elysia:s:([me]):([^:]*):([a-z2-7]+):(.*)$/s.exec(channel)
  if (parts === null) return undefined
  const [, kind, name = '', id = '', pattern = ''] = parts
  try {
    return { channel, pattern, queue: decodeURIComponent(name), id, answers: kind === 'm' }
  } catch {
    return undefined
  }
}

/**
 * The glob for a pattern with wildcards. The glob matches more than the pattern, so channels are compared with the
 * pattern again. The glob matches no channel that begins with `_`: a subscription to the channels of other processes
 * would be counted as a receiver, and hide from callers that such a process has stopped.
 */
export function globOf(pattern: string): string {
  const glob = pattern
    .split('.')
    .map((segment) => (segment === '*' || segment === '>' ? '*' : segment.replace(/[*?[\]\\]/g, '\\$&')))
    .join('.')
  return glob.startsWith('*') ? `[^_]${glob}` : glob
}

/** Why Redis cannot have a channel for a pattern; `undefined`: Redis can. */
export function whyNot(route: string): string | undefined {
  if (isOfSystem(route))
    return `channels that begin with '${OURS}' or end in '${REPLY}' carry answers; use another name`
  if (route.split('.').includes('')) return 'a segment of it is empty; give each segment between dots a text'
  return undefined
}

/** The message that a process has started or is stopping, with the names of its channels. */
export interface Change {
  readonly isThere: boolean
  readonly channels: readonly string[]
}

/** Writes a change. */
export function changeOf({ isThere, channels }: Change): string {
  return `${isThere ? '+' : '-'}${JSON.stringify(channels)}`
}

/**
 * Channels that one message may name. A process with more channels only announces that something has changed, and the
 * list is read from Redis.
 */
const MOST_CHANGED = 4_096

/** Reads a change; `undefined`: the message only says that something has changed. */
export function readChange(words: string): Change | undefined {
  if (!/^[+-]\[/.test(words)) return undefined
  try {
    const channels: unknown = JSON.parse(words.slice(1))
    if (!Array.isArray(channels) || channels.length > MOST_CHANGED) return undefined
    if (!channels.every((channel) => typeof channel === 'string')) return undefined
    return { isThere: words.startsWith('+'), channels }
  } catch {
    return undefined
  }
}

/**
 * Whether Redis finds that a channel matches the glob of a pattern with wildcards; the glob matches more than the
 * pattern.
 */
export function globHears(pattern: string, channel: string): boolean {
  const parts = pattern.split('.').map((segment) => {
    const isWild = segment === '*' || segment === '>'
    return isWild ? '[^]*' : segment.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')
  })
  return (
    new RegExp(`^${parts.join('\\.')}$`, 'u').test(channel) &&
    !(/^[*>]/.test(pattern) && /^(_|$)/.test(channel))
  )
}

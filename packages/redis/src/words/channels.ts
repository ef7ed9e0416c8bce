/**
 * Channels of Redis. Nest's are the patterns themselves, and `<pattern>.reply`; ours begin with `_elysia:`, so that
 * Nest's ends never see a word that is not theirs.
 */

/** The prefix of all our channels. */
const OURS = '_elysia:'
/** Where a caller asks all our services about a call of which it has heard nothing. */
export const EVERYONE = `${OURS}everyone`
/** Where our services say that they have come, or go. */
export const CHANGES = `${OURS}changes`
const INBOX = `${OURS}i:`
const SERVICE = `${OURS}s:`
/** The channels of all services, as PUBSUB CHANNELS wants them. */
export const ALL_SERVICES = `${SERVICE}*`

/** In front of an address: only our services are meant, because requests that left together go there. */
export const TOGETHER = `${OURS}t:`
/** In front of a channel of Nest's, as the address of an answer. Nothing that comes over a channel may name one. */
export const NEST_ANSWER = `${OURS}n:`
const REPLY = '.reply'

/** The channel on which answers to requests on another come, among Nest's ends. */
export function answersOf(channel: string): string {
  return channel + REPLY
}

/** A new inbox, with the dot behind it. @param secret what nobody can guess @param prefix names whose it is, for rights */
export function inboxOf(secret: string, prefix: string | undefined): string {
  return prefix === undefined ? `${INBOX}${secret}.` : `${INBOX}${prefix}:${secret}.`
}

/** Whether a text may stand in front of the secrets of inboxes. */
export function isInboxPrefix(prefix: unknown): boolean {
  return typeof prefix === 'string' && /^[A-Za-z0-9_]{1,64}$/.test(prefix)
}

/** Whether an address is that of one of our inboxes. */
export function isInbox(address: string): boolean {
  return address.startsWith(INBOX) && /^(\w{1,64}:)?[a-z2-7]{12,}\.[!-~]+$/.test(address.slice(INBOX.length))
}

/** The channel of an inbox: an address up to its first dot. */
export function channelOfInbox(address: string): string {
  return address.slice(0, address.indexOf('.'))
}

/** Whether a channel is not for handlers of everything: it is ours, or answers of Nest's come there. */
export function isOfSystem(channel: string): boolean {
  return channel.startsWith(OURS) || channel.endsWith(REPLY)
}

/** A subscription of one process of a service. */
export interface Place {
  readonly channel: string
  /** Its handler's pattern. */
  readonly pattern: string
  /** The queue whose members share what comes; empty: none. */
  readonly queue: string
  /** Of its process. */
  readonly id: string
  /** Requests may go there. */
  readonly answers: boolean
}

/** The channel at which one process takes what is for a pattern. */
export function placeOf(pattern: string, queue: string | undefined, id: string, answers: boolean): Place {
  const name = queue ?? ''
  const channel = `${SERVICE}${answers ? 'm' : 'e'}:${encodeURIComponent(name)}:${id}:${pattern}`
  return { channel, pattern, queue: name, id, answers }
}

/** Reads the name of such a channel; `undefined`: it is none. */
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
 * The glob for a pattern with wildcards. It matches more: what comes has to be compared again. It matches no channel that
 * begins with `_`: who gets what is said to another process would hide from callers that this process has gone.
 */
export function globOf(pattern: string): string {
  const glob = pattern
    .split('.')
    .map((segment) => (segment === '*' || segment === '>' ? '*' : segment.replace(/[*?[\]\\]/g, '\\$&')))
    .join('.')
  return glob.startsWith('*') ? `[^_]${glob}` : glob
}

/** Why Redis has no channel for a pattern; `undefined`: it has one. */
export function whyNot(route: string): string | undefined {
  if (isOfSystem(route))
    return `channels that begin with '${OURS}' or end in '${REPLY}' carry answers; give it another name`
  if (route.split('.').includes('')) return 'a segment of it is empty; give each segment between dots a text'
  return undefined
}

/** The message of a process that has come or goes: its channels. */
export interface Change {
  readonly isThere: boolean
  readonly channels: readonly string[]
}

/** Writes it. */
export function changeOf({ isThere, channels }: Change): string {
  return `${isThere ? '+' : '-'}${JSON.stringify(channels)}`
}

/** Channels that one message about changes may name. If it has more, the list is read from Redis instead. */
const MOST_CHANGED = 4_096

/** Reads it; `undefined`: it says only that something has changed. */
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

/** Whether Redis finds that a channel matches the glob of a pattern with wildcards: it matches more than the pattern. */
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

/**
 * The names of topics in MQTT. NestJS uses the patterns themselves, and `<pattern>/reply`. The topics of this library
 * begin with `_elysia/`, so that clients and services of NestJS never receive a message of this library's protocol.
 */
import { hasWildcards, type Wildcards } from '@elysia-microservices/transport/kit'

/** The prefix of all topics of this library. */
const OURS = '_elysia/'
/** The topic that all services read. A caller that has heard nothing of a call asks here about the call. */
export const EVERYONE = `${OURS}everyone`
const INBOX = `${OURS}i/`
/**
 * The prefix of topics that only services of this library read: for messages with several requests, and messages that
 * are not packets of NestJS.
 */
export const TOGETHER = `${OURS}t/`
/**
 * The prefix of an address at which a NestJS client or a device waits for an answer. No message can name an address
 * with this prefix.
 */
const ANSWER = `${OURS}n/`
const REPLY = '/reply'
const SHARED = '$share/'

/** The topic on which NestJS clients wait for the answers to requests on a topic. */
export function answersOf(topic: string): string {
  return topic + REPLY
}

/** Whether a topic is hidden from handlers of all patterns: a topic of this library, or one for answers of NestJS. */
export function isOfSystem(topic: string): boolean {
  return topic.startsWith(OURS) || topic.endsWith(REPLY)
}

// ── inboxes ────────────────────────────────────────────────────────────────────────────────────────────

const INBOX_TOPIC = /^_elysia\/i\/(?:[\w-]{1,64}\/)?[a-z2-7]{12,}$/
const TOKEN = /^[!-~]+$/

/**
 * The address of a new inbox, with a dot at its end. @param secret a text that nobody can guess @param prefix the
 * option `inboxPrefix`
 */
export function inboxOf(secret: string, prefix: string | undefined): string {
  return prefix === undefined ? `${INBOX}${secret}.` : `${INBOX}${prefix}/${secret}.`
}

/** Whether a text may be the prefix of inboxes. */
export function isInboxPrefix(prefix: unknown): boolean {
  return typeof prefix === 'string' && /^[\w-]{1,64}$/.test(prefix)
}

/** Whether an address belongs to an inbox of this library. */
export function isInbox(address: string): boolean {
  const { topic, token } = placeOf(address)
  return INBOX_TOPIC.test(topic) && TOKEN.test(token)
}

/** The topic and the correlation data in the address of an inbox, which are separated by a dot. */
export function placeOf(address: string): { readonly topic: string; readonly token: string } {
  const dot = address.indexOf('.')
  return { topic: address.slice(0, dot), token: address.slice(dot + 1) }
}

// ── answers to others ──────────────────────────────────────────────────────────────────────────────────

/** Where a NestJS client or a device waits for an answer. */
export interface Asker {
  readonly topic: string
  /** The correlation data in Base64; empty: none. */
  readonly correlation: string
}

/** The address of an answer to a NestJS client or a device. */
export function answerAddress({ topic, correlation }: Asker): string {
  return `${ANSWER}${topic}\n${correlation}`
}

/** Reads an address of an answer to a NestJS client or a device; `undefined`: the address is not one. */
export function readAnswerAddress(address: string): Asker | undefined {
  if (!address.startsWith(ANSWER)) return undefined
  const line = address.lastIndexOf('\n')
  return { topic: address.slice(ANSWER.length, line), correlation: address.slice(line + 1) }
}

/**
 * Returns the reply address that a request names. An address that is neither an inbox nor an allowed topic of answers
 * is returned in a form that nothing is published to: otherwise a stranger could make a service publish to any topic.
 * @param topic the topic of the request
 * @param own the option `replyTo`
 */
export function replyAddress(
  topic: string,
  responseTopic: string,
  correlation: Uint8Array | undefined,
  own: readonly string[]
): string {
  const bytes = Buffer.from(correlation ?? [])
  if (INBOX_TOPIC.test(responseTopic)) return `${responseTopic}.${bytes.toString('latin1')}`
  const isAllowed =
    !responseTopic.startsWith(OURS) &&
    isTopic(responseTopic) &&
    own.some((one) => matches(one, responseTopic))
  if (isAllowed || responseTopic === answersOf(topic))
    return answerAddress({ topic: responseTopic, correlation: bytes.toString('base64') })
  return `topic ${responseTopic}`
}

// ── patterns ───────────────────────────────────────────────────────────────────────────────────────────

/** The filter of a pattern: users of NestJS may write a shared subscription, `$share/<group>/<filter>`. */
export function filterOf(pattern: string): string {
  return pattern.startsWith(SHARED) ? pattern.slice(pattern.indexOf('/', SHARED.length) + 1) : pattern
}

/**
 * The filter of a subscription to a pattern.
 * @param queue the queue whose members share the messages; `undefined`: they are not shared
 */
export function sharedFilter(pattern: string, queue: string | undefined, before = ''): string {
  const filter = before + filterOf(pattern)
  if (pattern.startsWith(SHARED)) return pattern.slice(0, -filterOf(pattern).length) + filter
  return queue === undefined ? filter : `${SHARED}${queue.replace(/[%/+#]/g, encodeURIComponent)}/${filter}`
}

/** Whether a filter matches a topic. */
export function matches(filter: string, topic: string): boolean {
  if (topic.startsWith('$') && /^[+#]/.test(filter)) return false
  const wanted = filter.split('/')
  const given = topic.split('/')
  for (const [index, level] of wanted.entries()) {
    if (level === '#') return true
    if (index >= given.length || (level !== '+' && level !== given[index])) return false
  }
  return wanted.length === given.length
}

function rank(level: string | undefined): number {
  return level === '#' ? 2 : level === '+' ? 1 : 0
}

/**
 * The wildcards of MQTT: `+` for one level between slashes, `#` for the rest; a shared subscription stands for the
 * topics of its filter.
 */
export const LEVELS: Wildcards = {
  has: (pattern) => pattern.startsWith(SHARED) || hasLevels(pattern),
  match: (pattern, topic) => matches(filterOf(pattern), topic),
  compare(one, other) {
    const [left, right] = [filterOf(one).split('/'), filterOf(other).split('/')]
    for (const [index, level] of left.entries()) {
      const difference = rank(level) - rank(right[index])
      if (difference !== 0) return difference
    }
    return right.length - left.length || Number(one.startsWith(SHARED)) - Number(other.startsWith(SHARED))
  },
  isEachAlone: true,
  inCalls: "'+', '#' and $share stand for any topics, and a call goes to one; write the levels out",
  instead: "use '+' for one level between slashes, and '#' for the rest"
}

function hasLevels(filter: string): boolean {
  return /(^|\/)[+#](\/|$)/.test(filter)
}

/**
 * Servers such as mosquitto allow no more levels and no longer topics; the prefix of this library is added in front.
 */
const MOST_LEVELS = 190
const LONGEST = 65_000
/** Characters because of which servers close a connection. */
const UNWRITABLE = /[\p{Cc}\p{Cs}]|\p{Noncharacter_Code_Point}/u

/** Whether messages can be published to a topic. */
export function isTopic(topic: string): boolean {
  return topic !== '' && !/[+#]/.test(topic) && !UNWRITABLE.test(topic) && Buffer.byteLength(topic) <= LONGEST
}

/** Why a text cannot be a filter of topics; `undefined`: it can. */
export function whyNoFilter(filter: string): string | undefined {
  if (filter === '') return 'it is empty; give it a text'
  if (UNWRITABLE.test(filter)) return 'it has a character that MQTT cannot carry; leave it out'
  if (Buffer.byteLength(filter) > LONGEST || filter.split('/').length > MOST_LEVELS)
    return `it has more than ${LONGEST} bytes or ${MOST_LEVELS} levels; use a shorter name`
  const levels = filter.split('/')
  if (levels.some((level) => level.length > 1 && /[+#]/.test(level)) || levels.slice(0, -1).includes('#'))
    return "'+' must be a whole level between slashes, and '#' the last one"
  return undefined
}

/** Why MQTT cannot have a topic for a pattern; `undefined`: MQTT can. */
export function whyNot(route: string): string | undefined {
  const filter = filterOf(route)
  if (route.startsWith(SHARED) && !/^\$share\/[^/+#]+\/./.test(route))
    return 'a shared subscription is written $share/<group>/<topic>'
  const why = whyNoFilter(filter)
  if (why !== undefined) return why
  if (filter.startsWith('$')) return "topics that begin with '$' belong to the server; use another name"
  if (isOfSystem(filter))
    return `topics that begin with '${OURS}' or end in '${REPLY}' carry answers; use another name`
  // A pattern that is the JSON of an object may have dots that separate nothing.
  if (!filter.startsWith('{') && hasWildcards(filter))
    return "'*' and '>' between dots are not wildcards of MQTT; use '+' for one level between slashes, and '#' for the rest"
  return undefined
}

/** The rules for addresses in MQTT. */
export const ADDRESSING = { title: 'MQTT', wildcards: LEVELS, whyNot }

/**
 * Topics of MQTT. Nest's are the patterns themselves, and `<pattern>/reply`; ours begin with `_elysia/`, so that Nest's
 * ends never see a word that is not theirs.
 */
import { hasWildcards, type Wildcards } from '@elysia-microservices/transport/kit'

/** The prefix of all our topics. */
const OURS = '_elysia/'
/** Where a caller asks all our services about a call of which it has heard nothing. */
export const EVERYONE = `${OURS}everyone`
const INBOX = `${OURS}i/`
/** In front of a topic: only our services are meant, by requests that left together and by what is no packet of Nest's. */
export const TOGETHER = `${OURS}t/`
/** In front of the topic of an answer to somebody else's request. No message can name such an address. */
const ANSWER = `${OURS}n/`
const REPLY = '/reply'
const SHARED = '$share/'

/** The topic on which answers to requests on another come, among Nest's ends. */
export function answersOf(topic: string): string {
  return topic + REPLY
}

/** Whether a topic is not for handlers of everything: it is ours, or answers of Nest's come there. */
export function isOfSystem(topic: string): boolean {
  return topic.startsWith(OURS) || topic.endsWith(REPLY)
}

// ── inboxes ────────────────────────────────────────────────────────────────────────────────────────────

const INBOX_TOPIC = /^_elysia\/i\/(?:[\w-]{1,64}\/)?[a-z2-7]{12,}$/
const TOKEN = /^[!-~]+$/

/** A new inbox, with the dot behind it. @param secret what nobody can guess @param prefix names whose it is, for rights */
export function inboxOf(secret: string, prefix: string | undefined): string {
  return prefix === undefined ? `${INBOX}${secret}.` : `${INBOX}${prefix}/${secret}.`
}

/** Whether a text may stand in front of the secrets of inboxes. */
export function isInboxPrefix(prefix: unknown): boolean {
  return typeof prefix === 'string' && /^[\w-]{1,64}$/.test(prefix)
}

/** Whether an address is that of one of our inboxes. */
export function isInbox(address: string): boolean {
  const { topic, token } = placeOf(address)
  return INBOX_TOPIC.test(topic) && TOKEN.test(token)
}

/** The topic and the correlation data of an address in an inbox, which has a dot between them. */
export function placeOf(address: string): { readonly topic: string; readonly token: string } {
  const dot = address.indexOf('.')
  return { topic: address.slice(0, dot), token: address.slice(dot + 1) }
}

// ── answers to others ──────────────────────────────────────────────────────────────────────────────────

/** Where somebody who is not one of our ends waits for an answer. */
export interface Asker {
  readonly topic: string
  /** Base64; empty: none. */
  readonly correlation: string
}

/** The address of an answer to somebody else. */
export function answerAddress({ topic, correlation }: Asker): string {
  return `${ANSWER}${topic}\n${correlation}`
}

/** Reads such an address; `undefined`: it is none. */
export function readAnswerAddress(address: string): Asker | undefined {
  if (!address.startsWith(ANSWER)) return undefined
  const line = address.lastIndexOf('\n')
  return { topic: address.slice(ANSWER.length, line), correlation: address.slice(line + 1) }
}

/**
 * The reply address that a request names. What is neither an inbox nor a place of others' answers is given as it is, and
 * is no inbox: otherwise a stranger could have a service publish wherever the service may.
 * @param topic where the request came
 * @param own filters of topics on which others may want their answers
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

/** The filter of a pattern: Nest's users may write a shared subscription, `$share/<group>/<filter>`. */
export function filterOf(pattern: string): string {
  return pattern.startsWith(SHARED) ? pattern.slice(pattern.indexOf('/', SHARED.length) + 1) : pattern
}

/**
 * The filter of a subscription to a pattern.
 * @param queue whose members share it; `undefined`: nobody does
 */
export function sharedFilter(pattern: string, queue: string | undefined, before = ''): string {
  const filter = before + filterOf(pattern)
  if (pattern.startsWith(SHARED)) return pattern.slice(0, -filterOf(pattern).length) + filter
  return queue === undefined ? filter : `${SHARED}${queue.replace(/[/+#]/g, encodeURIComponent)}/${filter}`
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

/** `+` for one level between slashes, `#` for the rest; a shared subscription stands for the topics of its filter. */
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

/** Servers such as mosquitto take no more levels, and no longer topics; ours stand in front of them. */
const MOST_LEVELS = 190
const LONGEST = 65_000
/** Characters for which servers end a connection. */
const UNWRITABLE = /[\p{Cc}\p{Cs}]|\p{Noncharacter_Code_Point}/u

/** Whether something can be published there. */
export function isTopic(topic: string): boolean {
  return topic !== '' && !/[+#]/.test(topic) && !UNWRITABLE.test(topic) && Buffer.byteLength(topic) < LONGEST
}

/** Why a text is no filter of topics; `undefined`: it is one. */
export function whyNoFilter(filter: string): string | undefined {
  if (filter === '') return 'it is empty; give it a text'
  if (UNWRITABLE.test(filter)) return 'it has a character that MQTT cannot carry; leave it out'
  if (Buffer.byteLength(filter) > LONGEST || filter.split('/').length > MOST_LEVELS)
    return `it has more than ${LONGEST} bytes or ${MOST_LEVELS} levels; give it a shorter name`
  const levels = filter.split('/')
  if (levels.some((level) => level.length > 1 && /[+#]/.test(level)) || levels.slice(0, -1).includes('#'))
    return "'+' must be a whole level between slashes, and '#' the last one"
  return undefined
}

/** Why MQTT has no topic for a pattern; `undefined`: it has one. */
export function whyNot(route: string): string | undefined {
  const filter = filterOf(route)
  if (route.startsWith(SHARED) && !/^\$share\/[^/+#]+\/./.test(route))
    return 'a shared subscription is written $share/<group>/<topic>'
  const why = whyNoFilter(filter)
  if (why !== undefined) return why
  if (filter.startsWith('$')) return "topics that begin with '$' are the server's own; give it another name"
  if (isOfSystem(filter))
    return `topics that begin with '${OURS}' or end in '${REPLY}' carry answers; give it another name`
  // The text of an object has dots that separate nothing.
  if (!filter.startsWith('{') && hasWildcards(filter))
    return "'*' and '>' between dots are no wildcards of MQTT; use '+' for one level between slashes, and '#' for the rest"
  return undefined
}

/** The rules for addresses in MQTT. */
export const ADDRESSING = { title: 'MQTT', wildcards: LEVELS, whyNot }

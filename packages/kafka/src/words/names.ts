/**
 * Names at Kafka: topics and groups. Nest's topics are the patterns themselves, and `<pattern>.reply`; ours begin with
 * `_elysia.`, and what becomes of a durable event has the end `.retry-<n>` or `.dlt`.
 */
import { SEGMENTS } from '@elysia-microservices/transport/kit'

/** The prefix of all our topics. */
const OURS = '_elysia.'
/** Where callers ask all our services about a call of which they have heard nothing. */
export const EVERYONE = `${OURS}everyone`
/** The topic that says which groups are paused. */
export const GROUPS = `${OURS}groups`
const INBOX = `${OURS}inbox`
/** In front of where somebody who is not one of our ends waits for an answer. No message can name such an address. */
const ANSWER = '>'
/** Kafka's own limit. */
const LONGEST = 249
/** Room for `.retry-8`, and what else is put behind a pattern. */
const LONGEST_PATTERN = LONGEST - 16

// ── topics ─────────────────────────────────────────────────────────────────────────────────────────────

/** Whether Kafka has topics of that name. */
export function isTopicName(name: unknown): name is string {
  return (
    typeof name === 'string' &&
    /^[\w.-]+$/.test(name) &&
    name.length <= LONGEST &&
    name !== '.' &&
    name !== '..'
  )
}

/** The topic on which answers to requests on another come, among Nest's ends. */
export function answersOf(topic: string): string {
  return `${topic}.reply`
}

/** Failed attempts of which each has a topic of its own; further ones share the last. */
const MOST_RETRIES = 8

/** Where events pause that have failed so often. */
export function retryOf(topic: string, attempt: number): string {
  return `${topic}.retry-${Math.min(attempt, MOST_RETRIES)}`
}

/** All of them, for so many attempts. */
export function retriesOf(topic: string, attempts: number): string[] {
  const count = Math.max(1, Math.min(attempts - 1, MOST_RETRIES))
  return Array.from({ length: count }, (_, index) => retryOf(topic, index + 1))
}

const DEAD = '.dlt'

/** Where the dead letters of a topic are kept. */
export function deadOf(topic: string): string {
  return topic + DEAD
}

export function isDead(topic: string): boolean {
  return topic.endsWith(DEAD)
}

export function topicOfDead(topic: string): string {
  return topic.slice(0, -DEAD.length)
}

/** Topics of one process, by which it describes itself: they go with it. */
const OF_PROCESS = /^elysia-microservices\.describe\.[^.]+\.[^.]+$/

export function isOfProcess(topic: string): boolean {
  return OF_PROCESS.test(topic)
}

/** The group of a service, as Nest names it. */
export function groupOfService(name: string): string {
  return `${name}-server`
}

// ── inboxes ────────────────────────────────────────────────────────────────────────────────────────────

/** A place in a topic: one of its partitions. */
export interface Place {
  readonly topic: string
  readonly partition: number
  /** Tells messages there from those of others. */
  readonly token: string
}

/** The topic of inboxes. @param name of its own, for rights */
export function inboxTopic(name: string | undefined): string {
  return name === undefined ? INBOX : `${INBOX}.${name}`
}

/** A new inbox, with the dot behind it. @param secret what nobody can guess */
export function inboxOf(topic: string, partition: number, secret: string): string {
  return `${topic}/${partition}/${secret}.`
}

const ADDRESS = /^_elysia\.inbox(?:\.[\w-]{1,64})?\/\d{1,5}\/[a-z2-7]{24}\.[!-~]+$/

/** Whether an address is that of one of our inboxes. */
export function isInbox(address: string): boolean {
  return ADDRESS.test(address)
}

/** Where the messages for an address go. */
export function placeOf(address: string): Place {
  const first = address.indexOf('/')
  const second = address.indexOf('/', first + 1)
  return {
    topic: address.slice(0, first),
    partition: Number(address.slice(first + 1, second)),
    token: address.slice(second + 1)
  }
}

export function addressAt({ topic, partition, token }: Place): string {
  return `${topic}/${partition}/${token}`
}

// ── answers to others ──────────────────────────────────────────────────────────────────────────────────

/** Where a caller of Nest's waits; `undefined`: the address is none of theirs. */
export function readAnswer(address: string): Place | undefined {
  return address.startsWith(ANSWER) ? placeOf(address.slice(1)) : undefined
}

/**
 * The reply address that a request names. What is neither an inbox nor a place of others' answers is given as it is, and
 * is no inbox: otherwise a stranger could have a service publish wherever the service may.
 * @param topic where the request came @param own topics on which others may want their answers
 */
export function replyAddress(topic: string, place: Place, own: readonly string[]): string {
  const address = addressAt(place)
  if (ADDRESS.test(address)) return address
  const isAllowed = place.topic === answersOf(topic) || own.includes(place.topic)
  if (isAllowed && Number.isInteger(place.partition) && place.partition >= 0) return ANSWER + address
  return `topic ${address}`
}

// ── patterns ───────────────────────────────────────────────────────────────────────────────────────────

function whyNot(route: string): string | undefined {
  if (route === '') return 'it is empty; give it a text'
  if (!/^[\w.-]+$/.test(route) || route === '.' || route === '..')
    return "it is no name of a topic; use letters, digits, '.', '_' and '-'"
  if (route.length > LONGEST_PATTERN)
    return `it has more than ${LONGEST_PATTERN} characters; give it a shorter name`
  if (route.startsWith(OURS) || route.startsWith('__'))
    return `topics that begin with '${OURS}' or '__' are not for handlers; give it another name`
  if (/\.(reply|dlt|retry-\d+)$/.test(route))
    return "topics that end in '.reply', '.dlt' or '.retry-<n>' have what becomes of messages; give it another name"
  return undefined
}

/** The rules for addresses in Kafka: names of topics. */
export const ADDRESSING = {
  title: 'Kafka',
  wildcards: { ...SEGMENTS, instead: 'write each topic out' },
  whyNot
}

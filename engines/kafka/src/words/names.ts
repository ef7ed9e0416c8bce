/**
 * Names in Kafka: topics and groups. NestJS uses the patterns themselves as topics, and `<pattern>.reply` for
 * answers. The topics of this library begin with `_elysia.`; the topics of failed durable events end in `.retry-<n>`
 * or `.dlt`.
 */
import { SEGMENTS } from '@elysia-microservices/transport/kit'

/** The prefix of all topics of this library, apart from those of patterns. */
const OURS = '_elysia.'
/** The topic that all services read. A caller that has heard nothing of a call asks here about the call. */
export const EVERYONE = `${OURS}everyone`
/** The topic with the paused groups. */
export const GROUPS = `${OURS}groups`
const INBOX = `${OURS}inbox`
/**
 * The prefix of an address at which a NestJS client waits for an answer. No message can name an address with this
 * prefix.
 */
const ANSWER = '>'
/** The longest name of a topic that Kafka allows. */
const LONGEST = 249
/** The longest pattern: leaves room for `.retry-8` and other endings. */
const LONGEST_PATTERN = LONGEST - 16

// ── topics ─────────────────────────────────────────────────────────────────────────────────────────────

/** Whether Kafka allows this name for a topic. */
export function isTopicName(name: unknown): name is string {
  return (
    typeof name === 'string' &&
    /^[\w.-]+$/.test(name) &&
    name.length <= LONGEST &&
    name !== '.' &&
    name !== '..'
  )
}

/** The topic on which NestJS clients wait for the answers to requests on a topic. */
export function answersOf(topic: string): string {
  return `${topic}.reply`
}

/** Failed attempts that each have a topic of their own; all further attempts share the last topic. */
const MOST_RETRIES = 8

/** The topic in which an event waits that has failed this often. */
export function retryOf(topic: string, attempt: number): string {
  return `${topic}.retry-${Math.min(attempt, MOST_RETRIES)}`
}

/**
 * All topics of retries of a pattern. Also a handler with few attempts needs all of them: it may put off an event again
 * and again, and it may have had more attempts before.
 */
export function retriesOf(topic: string): string[] {
  return Array.from({ length: MOST_RETRIES }, (_, index) => retryOf(topic, index + 1))
}

const DEAD = '.dlt'

/** The topic with the dead letters of a pattern. */
export function deadOf(topic: string): string {
  return topic + DEAD
}

export function isDead(topic: string): boolean {
  return topic.endsWith(DEAD)
}

export function topicOfDead(topic: string): string {
  return topic.slice(0, -DEAD.length)
}

/** The topics by which one process describes itself. They are deleted when the process stops. */
const OF_PROCESS = /^elysia-microservices\.describe\.[^.]+\.[^.]+$/

export function isOfProcess(topic: string): boolean {
  return OF_PROCESS.test(topic)
}

/** The Kafka group of a service, named as NestJS does. */
export function groupOfService(name: string): string {
  return `${name}-server`
}

/** How the groups of services and clients end in NestJS. */
const OF_NEST = /-(server|client)$/

/**
 * The name of the Kafka group for one pattern. Each pattern needs a group of its own, because in Kafka all members of
 * a group share its partitions and positions. The name of a group has no dot, and no pattern has `~`; with it, the name
 * never is that of a service.
 */
export function groupAt(group: string, pattern: string): string {
  return `${group}.${pattern}${OF_NEST.test(pattern) ? '~' : ''}`
}

/** Whether a name is that of a Kafka group for one pattern of a group. */
export function isGroupOf(group: string, name: string): boolean {
  return name.startsWith(`${group}.`) && !OF_NEST.test(name)
}

// ── inboxes ────────────────────────────────────────────────────────────────────────────────────────────

/** An inbox in a partition: where its messages are written, and how they are told apart. */
export interface Place {
  readonly topic: string
  readonly partition: number
  /** Identifies the messages of this inbox among all messages of the partition. */
  readonly token: string
}

/** The topic with the inboxes. @param name the option `inbox`, for users with rights to different topics */
export function inboxTopic(name: string | undefined): string {
  return name === undefined ? INBOX : `${INBOX}.${name}`
}

/** The address of a new inbox, with a dot at its end. @param secret a text that nobody can guess */
export function inboxOf(topic: string, partition: number, secret: string): string {
  return `${topic}/${partition}/${secret}.`
}

const ADDRESS = /^_elysia\.inbox(?:\.[\w-]{1,64})?\/\d{1,5}\/[a-z2-7]{24}\.[!-~]+$/

/** Whether an address belongs to an inbox of this library. */
export function isInbox(address: string): boolean {
  return ADDRESS.test(address)
}

/** The topic, partition and token that an address names. */
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

/** Where a NestJS client waits for an answer; `undefined`: the address does not belong to a NestJS client. */
export function readAnswer(address: string): Place | undefined {
  return address.startsWith(ANSWER) ? placeOf(address.slice(1)) : undefined
}

/**
 * Returns the reply address that a request names. An address that is neither an inbox nor an allowed topic of answers
 * is returned in a form that nothing is published to: otherwise a stranger could make a service publish to any topic.
 * @param topic the topic of the request @param own the option `replyTo`
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
    return "it is not a valid name of a topic; use letters, digits, '.', '_' and '-'"
  if (route.length > LONGEST_PATTERN)
    return `it has more than ${LONGEST_PATTERN} characters; use a shorter name`
  if (route.startsWith(OURS) || route.startsWith('__'))
    return `topics that begin with '${OURS}' or '__' are reserved; use another name`
  if (/\.(reply|dlt|retry-\d+)$/.test(route))
    return "topics that end in '.reply', '.dlt' or '.retry-<n>' are reserved for answers, dead letters and retries; use another name"
  return undefined
}

/** The rules for patterns in Kafka, which become names of topics. */
export const ADDRESSING = {
  title: 'Kafka',
  wildcards: { ...SEGMENTS, instead: 'write each topic out' },
  whyNot
}

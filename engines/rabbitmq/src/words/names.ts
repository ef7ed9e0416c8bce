/**
 * Names in RabbitMQ: exchanges, queues, routing keys. All names of this library begin with `_elysia`, and a name that
 * belongs to a service or group is `_elysia.<kind>.<service or group>`, and perhaps `:` and a pattern. It can be read in
 * one way only, and rights, which are expressions for names, can tell one group from all others.
 */
import { createHash } from 'node:crypto'

/** The exchange for requests; the queues of services are bound to it by their patterns. */
export const CALLS = '_elysia'
/** The exchange for events: it passes them on to `CALLS`, and to `STORED`. */
export const EVENTS = '_elysia.events'
/** The exchange for durable events; the queues of groups are bound to it. */
export const STORED = '_elysia.stored'
/** The exchange for messages to the inboxes of all clients and services. */
export const INBOXES = '_elysia.inboxes'
/** The exchange for messages to every service. */
export const EVERYONE = '_elysia.everyone'

/**
 * The exchange by which groups are paused: it tells all consumers that a group was paused or resumed (`NEWS`), and leads
 * to the queues with the marks of paused groups, by their names.
 */
export const GROUPS = '_elysia.groups'
export const NEWS = 'news'

/** The queue in which all durable handlers are noted. */
export const HANDLERS = '_elysia.handlers'

const INBOX = '_elysia.i.'
/** Queues of one process, which RabbitMQ closes to all other connections. */
const OWN = '_elysia.o.'
/** The prefix of an address at which a NestJS client waits for an answer. */
const NEST_ANSWER = '_elysia.n.'
/** The longest name or routing key that RabbitMQ allows, in bytes. */
const LONGEST = 255
/** Queues that RabbitMQ itself names: direct reply-to, and queues that were declared without a name. */
const NAMED_BY_SERVER = /^amq\.(rabbitmq\.reply-to\.|gen-)/

/** The address of a new inbox, with a dot at its end. @param secret a text that nobody can guess */
export function inboxOf(secret: string): string {
  return `${INBOX}${secret}.`
}

const INBOX_QUEUE = /^_elysia\.i\.[a-z2-7]{12,}$/
const INBOX_ADDRESS = /^_elysia\.i\.[a-z2-7]{12,}\.[!-~]+$/

/** Whether an address belongs to an inbox of this library. */
export function isInbox(address: string): boolean {
  return INBOX_ADDRESS.test(address)
}

/** The queue of an inbox: an address up to its last dot. */
export function queueOfInbox(address: string): string {
  return address.slice(0, address.indexOf('.', INBOX.length))
}

/** Where a NestJS client waits for the answer. */
export interface NestCaller {
  readonly queue: string
  readonly correlation: string
}

/** The address of an answer to a NestJS client. */
export function nestAnswerOf({ queue, correlation }: NestCaller): string {
  return `${NEST_ANSWER}${queue}\n${correlation}`
}

/** Reads an address of an answer to a NestJS client; `undefined`: the address is not one. */
export function readNestAnswer(address: string): NestCaller | undefined {
  if (!address.startsWith(NEST_ANSWER)) return undefined
  const line = address.indexOf('\n')
  return { queue: address.slice(NEST_ANSWER.length, line), correlation: address.slice(line + 1) }
}

/**
 * Returns the reply address in the properties of a request; empty: there is none. An address that is neither an inbox
 * nor an allowed queue is returned in a form that nothing is published to: otherwise a stranger could make a service
 * publish to any queue.
 * @param own the option `nest.replyQueues`
 */
export function replyOf(replyTo: unknown, correlation: unknown, own: readonly string[]): string {
  if (typeof replyTo !== 'string' || replyTo === '') return ''
  const id = typeof correlation === 'string' ? correlation : ''
  if (INBOX_QUEUE.test(replyTo)) return `${replyTo}.${id}`
  if (NAMED_BY_SERVER.test(replyTo) || own.includes(replyTo))
    return nestAnswerOf({ queue: replyTo, correlation: id })
  // A request may not name a queue in the form that this library uses for addresses of answers.
  return replyTo.startsWith(NEST_ANSWER) ? `queue ${replyTo}` : replyTo
}

/** The longest name of a service or group inside a name, in bytes. */
const LONGEST_GROUP = 100

/**
 * The name of something that belongs to a service or group. `:` ends the group, and `#` would be a wildcard in a
 * binding, so both are escaped. Names that are too long are replaced by hashes, in a form that no other name has:
 * otherwise `%` is always followed by a code, and no segment of a pattern is empty.
 */
function named(kind: string, group: string, pattern?: string): string {
  const escaped = group.replace(/[%:#]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
  const owner = Buffer.byteLength(escaped) > LONGEST_GROUP ? `%.${hashOf(group)}` : escaped
  const head = `_elysia.${kind}.${owner}`
  if (pattern === undefined) return head
  const name = `${head}:${pattern}`
  return Buffer.byteLength(name) <= LONGEST ? name : `${head}:.${hashOf(pattern)}`
}

/** The queue of one handler, which all processes of a service share. */
export function queueOfService(service: string, pattern: string): string {
  return named('s', service, pattern)
}

/** A queue of one process alone. @param secret a text that nobody can guess */
export function queueOfProcess(secret: string): string {
  return OWN + secret
}

/** A text of any length as a text of 43 characters. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/**
 * In routing keys `#` is a wildcard. So a segment that is `#`, or that begins with the escape character `%`, is
 * escaped.
 */
const WRITTEN = /(^|\.)(?=#(?:\.|$)|%)/g

/** The routing key of a route without wildcards. */
export function keyOf(route: string): string {
  return route.includes('#') || route.includes('%') ? route.replace(WRITTEN, '$1%') : route
}

/** The route of a routing key. */
export function routeOfKey(key: string): string {
  return key.includes('%') ? key.replace(/(^|\.)%/g, '$1') : key
}

/** The key that binds a queue to a route, including wildcards: `>` stands for one or more segments. */
export function bindingOf(route: string): string {
  return keyOf(route).replace(/(^|\.)>$/, '$1*.#')
}

/** Why RabbitMQ cannot have an address for a pattern; `undefined`: RabbitMQ can. */
export function whyNot(route: string): string | undefined {
  if (route.split('.').includes('')) return 'a segment of it is empty; give each segment between dots a text'
  if (Buffer.byteLength(bindingOf(route)) > LONGEST)
    return `its routing key would have more than ${LONGEST} bytes; use a shorter name`
  return undefined
}

/** The queue with the events of a group for one pattern that are not done. */
export function queueOfGroup(group: string, pattern: string): string {
  return named('d', group, pattern)
}

/** The queue with the events of a group for one pattern that wait for a retry. */
export function queueOfPause(group: string, pattern: string, length: 'short' | 'long'): string {
  return named(length, group, pattern)
}

/** The queue with the dead letters of a group. */
export function queueOfDead(group: string): string {
  return named('dead', group)
}

/**
 * The exchange that leads to the queues of a group by their names. The exchange that RabbitMQ has for this leads to all
 * queues, so a right to it would be a right to all groups.
 */
export function exchangeOf(group: string): string {
  return named('own', group)
}

/**
 * A queue that each process of a group consumes and to which nobody publishes: its number of consumers is the number
 * of members, which `pauseGroup` needs.
 */
export function queueOfMembers(group: string): string {
  return named('members', group)
}

/** A queue with a mark for each run of one event. @param unique identifies the event */
export function queueOfRuns(group: string, unique: string): string {
  return named('runs', group, hashOf(unique))
}

/** A queue that has a message while the group is paused. */
export function queueOfPaused(group: string): string {
  return named('paused', group)
}

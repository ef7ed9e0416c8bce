/** Names in RabbitMQ: exchanges, queues, routing keys. All names of this library begin with `_elysia`. */
import { createHash } from 'node:crypto'

/** The exchange for requests; the queues of services are bound to it by their patterns. */
export const CALLS = '_elysia'
/** The exchange for events: it passes them on to `CALLS`, and to groups of durable handlers. */
export const EVENTS = '_elysia.events'
/** The exchange for durable events; the queues of groups are bound to it. */
export const STORED = '_elysia.stored'
/** The exchange for messages to the inboxes of all clients and services. */
export const INBOXES = '_elysia.inboxes'
/** The exchange for messages to every service. */
export const EVERYONE = '_elysia.everyone'

const INBOX = '_elysia.i.'
const SERVICE = '_elysia.s.'
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
 * @param own the option `replyQueues`
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

/**
 * The queue of one handler of a service. @param queue the name that all processes share, or a secret of one process
 */
export function queueOfService(queue: string, address: string): string {
  const name = `${SERVICE}${queue}:${address}`
  return Buffer.byteLength(name) <= LONGEST ? name : SERVICE + hashOf(name)
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

/** The exchange that tells the consumers of all groups that a group was paused or resumed. */
export const GROUPS = '_elysia.groups'

/** The queue with the events of a group for one pattern that are not done. */
export function queueOfGroup(group: string, address: string): string {
  return bounded(`_elysia.d.${group}:${address}`)
}

/** The queue with the events of a group that wait for a retry. */
export function queueOfPause(queue: string, length: 'short' | 'long'): string {
  return bounded(`_elysia.r.${length}:${queue}`)
}

/** The queue with the dead letters of a group. */
export function queueOfDead(group: string): string {
  return bounded(`_elysia.dead.${group}`)
}

/**
 * A queue that each process of a group consumes and to which nobody publishes: its number of consumers is the number
 * of members, which `pauseGroup` needs.
 */
export function queueOfMembers(group: string): string {
  return bounded(`_elysia.members.${group}`)
}

/** A queue with a mark for each run of one event. @param unique identifies the event */
export function queueOfRuns(group: string, unique: string): string {
  return bounded(`_elysia.runs.${group}:${hashOf(unique)}`)
}

/** A queue that has a message while the group is paused. */
export function queueOfPaused(group: string): string {
  return bounded(`_elysia.paused.${group}`)
}

function bounded(name: string): string {
  return Buffer.byteLength(name) <= LONGEST ? name : name.slice(0, 12) + hashOf(name)
}

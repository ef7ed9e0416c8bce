/** Names at RabbitMQ: exchanges, queues, routing keys. All our names begin with `_elysia`. */
import { createHash } from 'node:crypto'

/** Requests, by their patterns; the queues of services are bound here. */
export const CALLS = '_elysia'
/** Events: to all that is bound to `CALLS`, and to groups of durable handlers. */
export const EVENTS = '_elysia.events'
/** Events that are stored: the queues of groups are bound here. */
export const STORED = '_elysia.stored'
/** The inboxes of all our ends. */
export const INBOXES = '_elysia.inboxes'
/** To every service. */
export const EVERYONE = '_elysia.everyone'

const INBOX = '_elysia.i.'
const SERVICE = '_elysia.s.'
/** In front of the queue of a caller of Nest's, as the address of an answer. */
const NEST_ANSWER = '_elysia.n.'
/** RabbitMQ's own limit for names and routing keys, in bytes. */
const LONGEST = 255
/** Queues that RabbitMQ itself names: direct reply-to, and queues without a name. */
const NAMED_BY_SERVER = /^amq\.(rabbitmq\.reply-to\.|gen-)/

/** A new inbox, with the dot behind it. @param secret what nobody can guess */
export function inboxOf(secret: string): string {
  return `${INBOX}${secret}.`
}

const INBOX_QUEUE = /^_elysia\.i\.[a-z2-7]{12,}$/
const INBOX_ADDRESS = /^_elysia\.i\.[a-z2-7]{12,}\.[!-~]+$/

/** Whether an address is that of one of our inboxes. */
export function isInbox(address: string): boolean {
  return INBOX_ADDRESS.test(address)
}

/** The queue of an inbox: an address up to its last dot. */
export function queueOfInbox(address: string): string {
  return address.slice(0, address.indexOf('.', INBOX.length))
}

/** Where a caller of Nest's waits for the answer. */
export interface NestCaller {
  readonly queue: string
  readonly correlation: string
}

/** The address of an answer to a caller of Nest's. */
export function nestAnswerOf({ queue, correlation }: NestCaller): string {
  return `${NEST_ANSWER}${queue}\n${correlation}`
}

/** Reads such an address; `undefined`: it is none. */
export function readNestAnswer(address: string): NestCaller | undefined {
  if (!address.startsWith(NEST_ANSWER)) return undefined
  const line = address.indexOf('\n')
  return { queue: address.slice(NEST_ANSWER.length, line), correlation: address.slice(line + 1) }
}

/**
 * The reply address that the properties of a request say; empty: none. Whatever else they name is given as it is, and is
 * no inbox: otherwise a stranger could have a service publish to queues of others.
 * @param own queues beside RabbitMQ's own names where callers of Nest's may want their answers
 */
export function replyOf(replyTo: unknown, correlation: unknown, own: readonly string[]): string {
  if (typeof replyTo !== 'string' || replyTo === '') return ''
  const id = typeof correlation === 'string' ? correlation : ''
  if (INBOX_QUEUE.test(replyTo)) return `${replyTo}.${id}`
  if (NAMED_BY_SERVER.test(replyTo) || own.includes(replyTo))
    return nestAnswerOf({ queue: replyTo, correlation: id })
  // Only we may name a queue as such an address names it.
  return replyTo.startsWith(NEST_ANSWER) ? `queue ${replyTo}` : replyTo
}

/** The queue of one handler of a service. @param queue of all its processes, or a secret of one */
export function queueOfService(queue: string, address: string): string {
  const name = `${SERVICE}${queue}:${address}`
  return Buffer.byteLength(name) <= LONGEST ? name : SERVICE + hashOf(name)
}

/** A text of any length as one of 43 letters. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Routing keys know `#` as a wildcard; a segment that is one, or begins as we write that, is written otherwise. */
const WRITTEN = /(^|\.)(?=#(?:\.|$)|%)/g

/** The routing key of a route without wildcards. */
export function keyOf(route: string): string {
  return route.includes('#') || route.includes('%') ? route.replace(WRITTEN, '$1%') : route
}

/** The route of a routing key. */
export function routeOfKey(key: string): string {
  return key.includes('%') ? key.replace(/(^|\.)%/g, '$1') : key
}

/** The key that binds a queue to a route, wildcards included: `>` takes one segment or more. */
export function bindingOf(route: string): string {
  return keyOf(route).replace(/(^|\.)>$/, '$1*.#')
}

/** Why RabbitMQ has no address for a pattern; `undefined`: it has one. */
export function whyNot(route: string): string | undefined {
  if (route.split('.').includes('')) return 'a segment of it is empty; give each segment between dots a text'
  if (Buffer.byteLength(bindingOf(route)) > LONGEST)
    return `its routing key would have more than ${LONGEST} bytes; give it a shorter name`
  return undefined
}

/** Tells the consumers of all groups that something has changed in one. */
export const GROUPS = '_elysia.groups'

/** The events of a group for one pattern that are not done. */
export function queueOfGroup(group: string, address: string): string {
  return bounded(`_elysia.d.${group}:${address}`)
}

/** Events of such a queue that pause. */
export function queueOfPause(queue: string, length: 'short' | 'long'): string {
  return bounded(`_elysia.r.${length}:${queue}`)
}

/** The dead letters of a group. */
export function queueOfDead(group: string): string {
  return bounded(`_elysia.dead.${group}`)
}

/** On this queue each process of a group consumes, and nobody publishes: so who pauses it knows how many there are. */
export function queueOfMembers(group: string): string {
  return bounded(`_elysia.members.${group}`)
}

/** In this queue is a message while a group is paused. */
export function queueOfPaused(group: string): string {
  return bounded(`_elysia.paused.${group}`)
}

function bounded(name: string): string {
  return Buffer.byteLength(name) <= LONGEST ? name : name.slice(0, 12) + hashOf(name)
}

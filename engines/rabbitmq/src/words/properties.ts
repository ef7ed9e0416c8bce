/** The properties of a message: its reply address, its expiry, and the route that it calls. */
import { jsonOf, textOf, type Words } from '@elysia-microservices/engine'
import { hasWildcards, LONGEST_TIME, ProtocolError, routeOfValue } from '@elysia-microservices/transport/kit'
import type { Properties, Received } from '../driver.ts'
import { isInbox, queueOfInbox } from './names.ts'

/**
 * The route of a message in a queue for all patterns. Clients of this library put the route into a property, NestJS
 * puts it into the packet.
 */
export function routeOfMessage({ content, properties: { type } }: Received): string {
  if (typeof type === 'string' && type !== '') return type
  let packet: unknown
  try {
    packet = jsonOf(textOf(content))
  } catch (cause) {
    throw new ProtocolError('A message in a queue shared with NestJS is not JSON', cause)
  }
  const route = routeOfValue(Object(packet).pattern)
  if (route === undefined || hasWildcards(route))
    throw new ProtocolError('A message in a queue shared with NestJS has no pattern')
  return route
}

/** A reply address as properties of a request, where NestJS services look for it. */
export function replyTo(reply: string | undefined): Properties {
  if (reply === undefined || reply === '') return {}
  const queue = queueOfInbox(reply)
  return { replyTo: queue, correlationId: reply.slice(queue.length + 1), mandatory: true }
}

/** A reply address as properties of a message that is not a request. */
export function asking(reply: string | undefined, mandatory = true): Properties {
  return reply === undefined || reply === '' ? {} : { messageId: reply, mandatory }
}

/** Stands for a reply address that is not an inbox; nothing is published to this address. */
const NOWHERE = '?'

export function readReplyOf(messageId: unknown): string {
  if (messageId === undefined) return ''
  // A message with a reply address that is not an inbox is dropped and counted: otherwise a stranger could make this
  // service publish to any queue.
  return typeof messageId === 'string' && isInbox(messageId) ? messageId : NOWHERE
}

export function expiring(milliseconds: number | undefined): Properties {
  return milliseconds === undefined || milliseconds > LONGEST_TIME
    ? {}
    : { expiration: String(Math.max(1, Math.ceil(milliseconds))) }
}

/**
 * Removes the id from an answer: answers of NestJS services over RabbitMQ have none, because clients match them by a
 * property.
 */
export function withoutId(words: Words, correlation: string): Words {
  if (typeof words !== 'string') return words
  const tail = `"id":${JSON.stringify(correlation)}}`
  if (!words.endsWith(tail)) return words
  const head = words.slice(0, -tail.length)
  return `${head.endsWith(',') ? head.slice(0, -1) : head}}`
}

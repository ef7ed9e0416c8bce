/** The properties beside the words of a message: the address of its answer, its expiry, and the route that it calls. */
import { jsonOf, textOf, type Words } from '@elysia-microservices/transport/engine'
import { hasWildcards, LONGEST_TIME, ProtocolError, routeOfValue } from '@elysia-microservices/transport/kit'
import type { ConsumeMessage, Options } from 'amqplib'
import { isInbox, queueOfInbox } from './names.ts'

/** The route of a message in a queue for all patterns: ours say it in a property, Nest's in the packet. */
export function routeOfMessage({ content, properties: { type } }: ConsumeMessage): string {
  if (typeof type === 'string' && type !== '') return type
  let packet: unknown
  try {
    packet = jsonOf(textOf(content))
  } catch (cause) {
    throw new ProtocolError("A message in a queue of Nest's is not JSON", cause)
  }
  const route = routeOfValue(Object(packet).pattern)
  if (route === undefined || hasWildcards(route))
    throw new ProtocolError("A message in a queue of Nest's has no pattern that names a handler")
  return route
}

/** A reply address as properties of a request, where Nest's services look for it. */
export function replyTo(reply: string | undefined): Options.Publish {
  if (reply === undefined || reply === '') return {}
  const queue = queueOfInbox(reply)
  return { replyTo: queue, correlationId: reply.slice(queue.length + 1), mandatory: true }
}

/** The reply address of what is no request. */
export function asking(reply: string | undefined, mandatory = true): Options.Publish {
  return reply === undefined || reply === '' ? {} : { messageId: reply, mandatory }
}

/** In the place of an address that is no inbox: nothing is published there. */
const NOWHERE = '?'

export function readReplyOf(messageId: unknown): string {
  if (messageId === undefined) return ''
  // Otherwise a stranger could have us publish to queues of others: such a message is dropped, and counted.
  return typeof messageId === 'string' && isInbox(messageId) ? messageId : NOWHERE
}

export function expiring(milliseconds: number | undefined): Options.Publish {
  return milliseconds === undefined || milliseconds > LONGEST_TIME
    ? {}
    : { expiration: String(Math.max(1, Math.ceil(milliseconds))) }
}

/** Replies of Nest's services over RabbitMQ have no id: callers know them by a property. */
export function withoutId(words: Words, correlation: string): Words {
  if (typeof words !== 'string') return words
  const tail = `"id":${JSON.stringify(correlation)}}`
  if (!words.endsWith(tail)) return words
  const head = words.slice(0, -tail.length)
  return `${head.endsWith(',') ? head.slice(0, -1) : head}}`
}

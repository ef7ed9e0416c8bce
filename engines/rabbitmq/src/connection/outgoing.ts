/**
 * Chooses the exchange and routing key for a message by its address: an exchange of this library, or the queue or
 * exchange that NestJS uses.
 */
import { type CarriedHeaders, newSecret, type Words } from '@elysia-microservices/engine'
import type { Properties } from '../driver.ts'
import type { NestQueue } from '../options/options.ts'
import { readHeaders, writeHeaders } from '../words/headers.ts'
import {
  CALLS,
  EVENTS,
  EVERYONE,
  INBOXES,
  isInbox,
  keyOf,
  queueOfInbox,
  readNestAnswer
} from '../words/names.ts'
import { asking, expiring, replyTo, withoutId } from '../words/properties.ts'

/** A message to publish, with its exchange, routing key and options. */
export interface Outgoing {
  readonly exchange: string
  readonly key: string
  readonly words: Words
  readonly options: Properties
  /** The address as the sender gave it, for error messages. */
  readonly address: string
  /** Whether the message is a call to a queue shared with NestJS, which may have no consumer. Default: false. */
  readonly isToNest?: boolean
}

/** A message of this library's protocol: a call, an answer, a message about a call, or a request to all services. */
export function outgoingOf(
  nest: NestQueue | undefined,
  address: string,
  words: Words,
  reply?: string,
  headers?: CarriedHeaders,
  expires?: number
): Outgoing {
  if (isInbox(address)) {
    const key = queueOfInbox(address)
    const options = { correlationId: address.slice(key.length + 1), ...asking(reply) }
    return { exchange: INBOXES, key, words, options, address }
  }
  const caller = readNestAnswer(address)
  if (caller !== undefined) {
    const { queue, correlation } = caller
    const options = { correlationId: correlation, ...asking(reply), ...writeHeaders(headers) }
    return { exchange: '', key: queue, words: withoutId(words, correlation), options, address }
  }
  if (address === EVERYONE)
    return { exchange: EVERYONE, key: '', words, options: asking(reply, false), address }
  const options = { ...replyTo(reply), ...writeHeaders(headers), ...expiring(expires) }
  if (nest === undefined) return { exchange: CALLS, key: keyOf(address), words, options, address }
  return { ...toNest(nest, address, words, options), isToNest: true }
}

/** An event that is not durable. */
export function outgoingEvent(
  nest: NestQueue | undefined,
  address: string,
  words: string,
  reply?: string,
  headers?: CarriedHeaders
): Outgoing {
  const options = { ...replyTo(reply), ...writeHeaders(headers) }
  if (nest !== undefined) return toNest(nest, address, words, options)
  // If a group of durable handlers stores the event, the group identifies it by this id and time.
  const named = { ...options, messageId: newSecret(), timestamp: Math.floor(Date.now() / 1_000) }
  return { exchange: EVENTS, key: keyOf(address), words, options: named, address }
}

/** A copy of a durable event for handlers that are not durable. */
export function outgoingCopy(address: string, words: Words, given: Properties['headers']): Outgoing {
  const headers = readHeaders(given, undefined)
  const options = { mandatory: true, ...(headers !== undefined && { headers }) }
  return { exchange: CALLS, key: keyOf(address), words, options, address }
}

/** A message to the queue that the client shares with NestJS, or to its exchange. */
function toNest(
  { name, exchange, persistent }: NestQueue,
  address: string,
  words: Words,
  options: Properties
): Outgoing {
  const place = exchange === undefined ? { exchange: '', key: name } : { exchange, key: keyOf(address) }
  const kept = persistent ? { persistent } : {}
  return { ...place, words, options: { ...options, ...kept, type: address }, address }
}

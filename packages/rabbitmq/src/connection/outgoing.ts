/** Where a message goes, by its address: to one of our exchanges, or to where the ends of Nest listen. */
import { type CarriedHeaders, newSecret, type Words } from '@elysia-microservices/transport/engine'
import type { Options } from 'amqplib'
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

/** A message to publish, with its exchange, key and options. */
export interface Outgoing {
  readonly exchange: string
  readonly key: string
  readonly words: Words
  readonly options: Options.Publish
  /** As its sender named it, for errors. */
  readonly address: string
  /** It is a call to a queue that others may take from, or nobody. Default: false. */
  readonly isToNest?: boolean
}

/** A message of the dialogue: a call, an answer, a word about a call, a question to all. */
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

/** An event without an answer. */
export function outgoingEvent(
  nest: NestQueue | undefined,
  address: string,
  words: string,
  reply?: string,
  headers?: CarriedHeaders
): Outgoing {
  const options = { ...replyTo(reply), ...writeHeaders(headers) }
  if (nest !== undefined) return toNest(nest, address, words, options)
  // A group that stores it knows it by this id and time.
  const named = { ...options, messageId: newSecret(), timestamp: Math.floor(Date.now() / 1_000) }
  return { exchange: EVENTS, key: keyOf(address), words, options: named, address }
}

/** A stored event for plain handlers, too. */
export function outgoingCopy(address: string, words: Words, given: Options.Publish['headers']): Outgoing {
  const headers = readHeaders(given, undefined)
  const options = { mandatory: true, ...(headers !== undefined && { headers }) }
  return { exchange: CALLS, key: keyOf(address), words, options, address }
}

/** To the queue that a client uses as Nest's clients do, or to its exchange. */
function toNest(
  { name, exchange }: NestQueue,
  address: string,
  words: Words,
  options: Options.Publish
): Outgoing {
  const place = exchange === undefined ? { exchange: '', key: name } : { exchange, key: keyOf(address) }
  return { ...place, words, options: { ...options, type: address }, address }
}

/** Headers of records: the headers of the caller, and those that NestJS and this library add. */
import { ASKS_FOR_HEADERS, GROUPS_HEADER } from '@elysia-microservices/transport/kit'

/** The headers that this library or NestJS adds; callers may not give headers with the same prefixes. */
export const HEADER = {
  /** Of NestJS, in a request: the id of the request, and where its answer is wanted. */
  correlation: 'kafka_correlationId',
  replyTopic: 'kafka_replyTopic',
  replyPartition: 'kafka_replyPartition',
  /** Of NestJS, in an answer: the error, and whether this is the last value. */
  error: 'kafka_nest-err',
  disposed: 'kafka_nest-is-disposed',
  /** How the value is to be read: see `ValueType`. */
  type: 'elysia-type',
  /** The value is a message of this library's protocol, not plain data. */
  words: 'elysia-words',
  /** The address to which the receiver answers. */
  reply: 'elysia-reply',
  /** The inbox of a caller that has closed. */
  gone: 'elysia-gone',
  /** Milliseconds after which a request that was not read has expired. */
  expires: 'elysia-expires',
  /**
   * Of a failed durable event: its group, the number of failed attempts, when it is due, and where it was published.
   */
  group: 'elysia-group',
  attempts: 'elysia-attempts',
  due: 'elysia-due',
  /** Milliseconds between the failure of an attempt and the next attempt. */
  pause: 'elysia-pause',
  /** Of a durable event for some groups only: see `directedHeaders`. */
  groups: GROUPS_HEADER,
  position: 'elysia-position',
  /** Of a dead letter: why the event failed, and which parts were left out because the record was too large. */
  reason: 'elysia-reason',
  leftOut: 'elysia-left-out',
  /** CloudEvents' attributes, of a durable event. */
  id: 'ce_id',
  source: 'ce_source',
  eventType: 'ce_type',
  specification: 'ce_specversion',
  key: 'ce_partitionkey'
} as const

/** The header with the key of a request or an event: messages with the same key stay in order. */
export const KEY = 'kafka-key'

const RESERVED = /^(kafka_|elysia-|ce_)/

const RESERVED_BYTES = ['kafka_', 'elysia-', 'ce_'].map((start) => Buffer.from(start))

/** By this header a caller asks for the headers of the answer. It is sent like the caller's own, although its name is reserved. */
const ASKS = Buffer.from(ASKS_FOR_HEADERS)

/** Whether a header is not one of the caller's: it has one of the prefixes of this library or of NestJS. */
export function isReserved(bytes: Buffer, at: number, end: number): boolean {
  for (const start of RESERVED_BYTES) {
    let same = 0
    while (same < start.length && bytes[at + same] === start[same]) same++
    if (same === start.length) return bytes.compare(ASKS, 0, ASKS.length, at, end) !== 0
  }
  return false
}

export type HeaderName = (typeof HEADER)[keyof typeof HEADER]

/** The names of this library's headers as bytes. */
export const OWN_NAMES: ReadonlyMap<string, Buffer> = new Map(
  Object.values(HEADER).map((name) => [name, Buffer.from(name)])
)

/** Why Kafka cannot carry a header; `undefined`: Kafka can. */
export function whyNoHeader(name: string, value: unknown): string | undefined {
  if (RESERVED.test(name) && name !== ASKS_FOR_HEADERS)
    return "begins with 'kafka_', 'elysia-' or 'ce_', which the transport uses itself"
  for (const text of [name, [value].flat().join(', ')]) {
    if (/\p{Cs}/u.test(text)) return 'has half of a surrogate pair'
    if (Buffer.byteLength(text) > 65_535) return 'has more than 65535 bytes'
  }
  return undefined
}

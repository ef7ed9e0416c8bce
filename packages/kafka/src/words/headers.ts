/** Headers of records: the callers', and what stands beside them for Nest's ends and for ours. */
import type { CarriedHeaders } from '@elysia-microservices/transport/engine'
import type { Headers } from '@elysia-microservices/transport/kit'

/** Our headers and Nest's; callers may not give what begins so. */
export const HEADER = {
  /** Nest's: of a request, where its answer is wanted. */
  correlation: 'kafka_correlationId',
  replyTopic: 'kafka_replyTopic',
  replyPartition: 'kafka_replyPartition',
  /** Nest's: of an answer, its error, and that it is the last. */
  error: 'kafka_nest-err',
  disposed: 'kafka_nest-is-disposed',
  /** What the value is. */
  type: 'elysia-type',
  /** The value is words of the dialogue, and no data. */
  words: 'elysia-words',
  /** Where the answer to words is wanted. */
  reply: 'elysia-reply',
  /** The inbox of a caller that waits no more. */
  gone: 'elysia-gone',
  /** Milliseconds for which a request counts. */
  expires: 'elysia-expires',
  /** Of a durable event that has failed: whose it is, attempts that have, when it is due, and where it was published. */
  group: 'elysia-group',
  attempts: 'elysia-attempts',
  due: 'elysia-due',
  position: 'elysia-position',
  /** Of a dead letter. */
  reason: 'elysia-reason',
  leftOut: 'elysia-left-out',
  /** CloudEvents: of a durable event. */
  id: 'ce_id',
  source: 'ce_source',
  eventType: 'ce_type',
  specification: 'ce_specversion',
  key: 'ce_partitionkey'
} as const

const RESERVED = /^(kafka_|elysia-|ce_)/

/** Headers as they are written. */
export type RecordHeaders = Map<Buffer, Buffer>

const NAMES = new Map<string, Buffer>(Object.values(HEADER).map((name) => [name, Buffer.from(name)]))

/** Headers of a record. */
export function writeHeaders(
  given: CarriedHeaders | undefined,
  own: Readonly<Record<string, string | undefined>>
): RecordHeaders {
  const written: RecordHeaders = new Map()
  for (const name in own) {
    const value = own[name]
    if (value !== undefined) written.set(NAMES.get(name) ?? Buffer.from(name), Buffer.from(value))
  }
  for (const name in given)
    written.set(Buffer.from(name), Buffer.from([given[name] as string].flat().join(', ')))
  return written
}

/** The headers of a record, by name. */
export type ReadHeaders = Readonly<Record<string, string>>

export function readHeaders(given: readonly (readonly [Buffer | null, Buffer | null])[]): ReadHeaders {
  const read: Record<string, string> = Object.create(null)
  for (const [name, value] of given) if (name !== null) read[name.toString()] = value?.toString() ?? ''
  return read
}

/** Those that are the caller's; `undefined`: there are none. */
export function callersOf(read: ReadHeaders): Headers | undefined {
  const names = Object.keys(read).filter((name) => !RESERVED.test(name))
  return names.length === 0
    ? undefined
    : Object.fromEntries(names.map((name) => [name, read[name] as string]))
}

/** Why Kafka cannot carry a header; `undefined`: it can. */
export function whyNoHeader(name: string, value: unknown): string | undefined {
  if (RESERVED.test(name)) return "begins with 'kafka_', 'elysia-' or 'ce_', as the transport's own do"
  for (const text of [name, [value].flat().join(', ')]) {
    if (/\p{Cs}/u.test(text)) return 'has half of a surrogate pair'
    if (Buffer.byteLength(text) > 65_535) return 'has more than 65535 bytes'
  }
  return undefined
}

/** Headers of records: the callers', and what stands beside them for Nest's ends and for ours. */

/** Our headers and Nest's; callers may not give what begins so. */
export const HEADER = {
  /** Nest's: of a request, where its answer is wanted. */
  correlation: 'kafka_correlationId',
  replyTopic: 'kafka_replyTopic',
  replyPartition: 'kafka_replyPartition',
  /** Nest's: of an answer, its error, and that it is the last. */
  error: 'kafka_nest-err',
  disposed: 'kafka_nest-is-disposed',
  /** The type of the value. */
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

const RESERVED_BYTES = ['kafka_', 'elysia-', 'ce_'].map((start) => Buffer.from(start))

/** Whether the name of a header is one of ours, or of Nest's. */
export function isReserved(bytes: Buffer, at: number): boolean {
  for (const start of RESERVED_BYTES) {
    let same = 0
    while (same < start.length && bytes[at + same] === start[same]) same++
    if (same === start.length) return true
  }
  return false
}

export type HeaderName = (typeof HEADER)[keyof typeof HEADER]

/** Our names as they are written. */
export const OWN_NAMES: ReadonlyMap<string, Buffer> = new Map(
  Object.values(HEADER).map((name) => [name, Buffer.from(name)])
)

/** Why Kafka cannot carry a header; `undefined`: it can. */
export function whyNoHeader(name: string, value: unknown): string | undefined {
  if (RESERVED.test(name)) return "begins with 'kafka_', 'elysia-' or 'ce_', as the transport's own do"
  for (const text of [name, [value].flat().join(', ')]) {
    if (/\p{Cs}/u.test(text)) return 'has half of a surrogate pair'
    if (Buffer.byteLength(text) > 65_535) return 'has more than 65535 bytes'
  }
  return undefined
}

/** The message that a handler gets. */
import type { Delivery, Headers, Peer } from '@elysia-microservices/transport/kit'

/** One request or event: its data, and what travelled beside it. */
export interface Message<Data = unknown, HeaderValues = Headers> {
  /** Data of the caller; `undefined` if it sent none. With a schema: checked and decoded. */
  readonly data: Data
  /** The pattern as the caller wrote it; an object pattern as its JSON text. */
  readonly pattern: string
  /** Headers the caller sent; empty if none. With a schema: checked and decoded. */
  readonly headers: HeaderValues
  /** The metadata that was sent beside the data, as it came; `undefined` if there is none. */
  readonly metadata: unknown
  /** Aborts when nobody waits for the result any more: work should stop then. Never for events. */
  readonly signal: AbortSignal
  /** Milliseconds the caller waits, counted from its sending; `undefined` if it does not say. */
  readonly timeout: number | undefined
  /** Milliseconds that are left of `timeout`, 0 if it has passed; `undefined` if the caller does not say. */
  readonly remaining: number | undefined
  /** Whether the caller waits for an answer. */
  readonly kind: 'request' | 'event'
  /** The other end of the connection the message came on; `undefined` where there is none, as behind a broker. */
  readonly peer: Peer | undefined
  /** Where the message was stored before it came; `undefined` if nowhere. */
  readonly delivery: Delivery | undefined
  /** The name of the transport the message came by, such as `'tcp'`. */
  readonly transport: string
}

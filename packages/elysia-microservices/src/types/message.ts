/** The message that a handler gets. */
import type { AnswerSet, Delivery, MessageHeaders, Peer } from '@elysia-microservices/transport/kit'

/**
 * The name under which a message has its headers as they were sent. A schema for headers may drop or decode them, but
 * calls made `within` the message forward them unchanged.
 */
export const SENT_HEADERS: unique symbol = Symbol.for('elysia-microservices.sent-headers')

/** One request or event: its data, and all else that was sent with it. */
export interface Message<Data = unknown, HeaderValues = MessageHeaders> {
  /** The data that the caller has sent; `undefined` if there is none. With a schema the data is checked and decoded. */
  readonly data: Data
  /** The pattern as the caller has written it; for an object pattern its JSON text. */
  readonly pattern: string
  /**
   * The headers that the caller has sent; empty if there are none. With a schema the headers are checked and
   * decoded.
   */
  readonly headers: HeaderValues
  /** The metadata that was sent beside the data, unchanged; `undefined` if there is none. */
  readonly metadata: unknown
  /**
   * Aborts when nobody waits for the result any more, or when the handler's option `timeout` is over, so that the
   * handler can stop its work. For events it aborts only with that option.
   */
  readonly signal: AbortSignal
  /**
   * Milliseconds that the caller waits for the answer, counted from the time of sending; `undefined` if the caller
   * does not say.
   */
  readonly timeout: number | undefined
  /**
   * Milliseconds that are left of `timeout`, or of the handler's option `timeout` if that ends earlier; 0 if the time is
   * over. Once a stream has begun, those left of the caller's option `lifetime`. `undefined`: there is no limit.
   */
  readonly remaining: number | undefined
  /**
   * Headers beside the answer: texts, and bytes under names that end in `-bin`. `set.headers['…'] = '…'` goes with the
   * first value of the answer or with its error, and cannot be set later; `set.trailers` go with its end. Callers get them
   * by the options `onHeaders` and `onTrailers`; to others they are not sent. Events have no answer: reading `set` throws
   * an `OptionError` there.
   */
  readonly set: AnswerSet
  /** Whether the caller waits for an answer. */
  readonly kind: 'request' | 'event'
  /**
   * The other end of the connection over which the message has arrived; `undefined` if there is no such connection,
   * as behind a broker.
   */
  readonly peer: Peer | undefined
  /** The delivery of a stored event; `undefined` if the message was not stored. */
  readonly delivery: Delivery | undefined
  /** The name of the transport over which the message has arrived, such as `'tcp'`. */
  readonly transport: string
}

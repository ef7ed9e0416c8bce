/**
 * Calls as users and transports see them: options, callers, and receivers of answers. They are the same for every
 * transport.
 */
import type { AnswerHeaders } from './answer-headers.ts'
import type { CallHeaders } from './headers.ts'
import type { Pattern } from './pattern.ts'

/** Options of a single call. */
export interface CallOptions {
  /**
   * Milliseconds until the answer has come (of a stream: its first value) or the event has been sent, connecting
   * included. `false` for no limit.
   * Default: the client's `timeout`.
   */
  readonly timeout?: number | false | undefined
  /**
   * Milliseconds for the whole call, connecting included: of a stream until its last value. Then the reader gets a
   * `TimeoutError`, and the work at the service is canceled. If it is shorter than `timeout`, it limits the first value,
   * too.
   * Default: no limit once the answer has begun.
   */
  readonly lifetime?: number | undefined
  /**
   * Milliseconds of the timeout for which the call may wait while there is no connection. With 0 the call fails at
   * once, unless the client's first connection is being made. A call that has waited too long fails with a
   * `ConnectionError` whose `mayHaveRun` is `false`.
   * Default: the client's `waitForConnection`.
   */
  readonly waitForConnection?: number | undefined
  /** Cancels the call when the signal aborts. */
  readonly signal?: AbortSignal | null | undefined
  /**
   * Text that is sent with the call; a handler finds it in its `headers`. Under a name that ends in `-bin` it may be bytes,
   * which are Base64 there; over gRPC and Connect they are bytes in the `metadata` of the message.
   */
  readonly headers?: CallHeaders | undefined
  /**
   * Gets the headers that the handler has set beside its answer (`set.headers`), before the first value or the error. It
   * is not called if there are none; it is called again if the call is retried. If it throws, the call fails with its
   * error. Nest's wire cannot carry such headers.
   * Default: the headers are not sent.
   */
  readonly onHeaders?: ((headers: AnswerHeaders) => void) | undefined
  /**
   * Gets the headers that the handler has set for the end of its answer (`set.trailers`), before the reader gets the
   * end. All else is as with `onHeaders`.
   */
  readonly onTrailers?: ((trailers: AnswerHeaders) => void) | undefined
  /**
   * Says that running the handler twice does no harm: after a lost connection the call is then retried even if the
   * handler may have run.
   * Default: false.
   */
  readonly idempotent?: boolean | undefined
  /**
   * With several endpoints, calls with the same key are sent to the same endpoint as long as that endpoint takes calls.
   */
  readonly key?: string | undefined
  /**
   * The message in whose handler the call is made. The call gets no more than the message's remaining time and is
   * cancelled together with the message. Default: the call has its own timeout only.
   */
  readonly within?: HandledMessage | undefined
}

/** Options of a call whose answer is passed on without being read, as a gateway to HTTP does. */
export interface PassingOptions extends CallOptions {
  /**
   * Leaves an answer in JSON undecoded: the call resolves with an `UnreadJson`. A transport that does not support this
   * option resolves with the decoded value.
   * Default: false.
   */
  readonly leavesUnread?: boolean | undefined
}

/** The fields of a handled message that a call with the option `within` takes over. */
export interface HandledMessage {
  /** Milliseconds left until the message's caller stops waiting; `undefined` if the caller sets no limit. */
  readonly remaining: number | undefined
  readonly signal?: AbortSignal
  readonly kind?: 'request' | 'event'
  /**
   * Headers of the handled message, which a schema may have decoded. The call sends the headers that the client's option
   * `forward` names, as they have arrived.
   */
  readonly headers?: Readonly<Record<string, unknown>>
}

/** Options of an event. */
export type EmitOptions = Pick<
  CallOptions,
  'timeout' | 'waitForConnection' | 'signal' | 'headers' | 'key' | 'within'
>

/** Options of a call for a stream. */
export interface StreamOptions extends CallOptions {
  /**
   * Number of values that the other side may send before `StreamCall.request` asks for more. Default: the transport
   * asks for more by itself while the receiver takes values.
   */
  readonly demand?: number | undefined
}

/** A call whose answer is a stream. */
export interface StreamCall {
  /** Gives up the call. */
  cancel(): void
  /** Says that the receiver takes values again after its `next` has returned false. */
  resume(): void
  /** Lets the other side send `n` more values. Only for a call with the option `demand`. */
  request(n: number): void
}

/** Receives the values of a stream: any number of them, then one `complete` or one `error`. */
export interface CallReceiver {
  /**
   * Takes a value. Return exactly `false` to pause until `StreamCall.resume`; values that are already on their way still
   * come. Nest's wire cannot tell the other side to pause.
   * @param size its approximate bytes, where they are known
   */
  next(value: unknown, size?: number): unknown
  /** The answer has ended. */
  complete(): void
  /** The call has failed; nothing comes after it. */
  error(error: Error): void
}

/** Makes calls, as a client transport does. Every call settles exactly once. */
export interface Caller {
  /** Resolves with the first value of the answer, or with `undefined` if the answer ends without a value. */
  request(pattern: Pattern, data: unknown, options?: CallOptions): Promise<unknown>
  /** Passes all values of the answer to `receiver`. */
  stream(pattern: Pattern, data: unknown, receiver: CallReceiver, options?: StreamOptions): StreamCall
  /**
   * Sends an event, which has no answer. Resolves when a connection has it that is not blocked: a loop that awaits each
   * `emit` sends as fast as the other side reads.
   */
  emit(pattern: Pattern, data: unknown, options?: EmitOptions): Promise<void>
}

/** A call on its way: what a caller asks, and how it gets the answer. The same for every protocol. */
import type { Headers } from './dispatch.ts'
import type { Pattern } from './pattern.ts'

/** What a single call may say beside pattern and data. */
export interface CallOptions {
  /**
   * Milliseconds until the (first) answer must be here, connecting included; 0 for no limit.
   * Default: the client's `timeout`.
   */
  readonly timeout?: number
  /** Gives the call up when it aborts. */
  readonly signal?: AbortSignal
  /** Text that travels with the request; a handler finds it in its `headers`. */
  readonly headers?: Headers
  /**
   * Running it twice does no harm: the call is made again when its connection is lost, even if it may have run.
   * Default: false.
   */
  readonly idempotent?: boolean
  /** With several endpoints: calls of one key go to one endpoint, as long as it can take them. */
  readonly stickyKey?: string
  /**
   * The message that is being handled: the call has what is left of its time, and is given up with it.
   * Default: the call's own time only.
   */
  readonly within?: HandledMessage
}

/** What a call takes over from the message that it is made for. */
export interface HandledMessage {
  /** Milliseconds that are left until the message's caller gives up; `undefined` if it does not say. */
  readonly remaining: number | undefined
  readonly signal?: AbortSignal
  readonly kind?: 'request' | 'event'
}

/** What a stream may say beside pattern and data. */
export interface StreamOptions extends CallOptions {
  /**
   * Values the other side may send before more are asked for with `StreamCall.request`.
   * Default: as many as are taken; the receiver is never asked.
   */
  readonly demand?: number
}

/** A stream on its way. */
export interface StreamCall {
  /** Gives the call up. */
  cancel(): void
  /** Lets the other side send `n` more values; only for a stream that was given a `demand`. */
  request(n: number): void
}

/** Takes the answer of a stream: any number of values, then one `complete` or one `error`. */
export interface CallReceiver {
  next(value: unknown): void
  complete(): void
  error(error: Error): void
}

/** Whoever can be called: a client transport. Every call settles exactly once. */
export interface Caller {
  /** The first value of the answer; `undefined` if it ends without one. */
  request(pattern: Pattern, data: unknown, options?: CallOptions): Promise<unknown>
  /** All values of the answer. */
  stream(pattern: Pattern, data: unknown, receiver: CallReceiver, options?: StreamOptions): StreamCall
  /** Sends an event. Resolves once it is handed to the connected socket: nobody answers an event. */
  emit(pattern: Pattern, data: unknown, options?: Pick<CallOptions, 'headers' | 'stickyKey'>): Promise<void>
  /**
   * Sends metadata about the connection (RSocket's METADATA_PUSH), which nobody answers. Only where the
   * protocol has it.
   * @throws {PayloadTooLargeError} it is longer than a frame
   */
  pushMetadata?(metadata: Uint8Array): void
}

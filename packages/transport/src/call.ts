/** A call on its way: what a caller asks, and how it gets the answer. The same for every transport. */
import type { Headers } from './headers.ts'
import type { Pattern } from './pattern.ts'

/** What a single call may say beside pattern and data. */
export interface CallOptions {
  /**
   * Milliseconds until the (first) answer must be here, or an event must have left, connecting included; 0 for no
   * limit.
   * Default: the client's `timeout`.
   */
  readonly timeout?: number | undefined
  /** Gives the call up when it aborts. */
  readonly signal?: AbortSignal | null | undefined
  /** Text that travels with the request; a handler finds it in its `headers`. */
  readonly headers?: Headers | undefined
  /**
   * Running it twice does no harm: the call is made again when its connection is lost, even if it may have run.
   * Default: false.
   */
  readonly idempotent?: boolean | undefined
  /** With several endpoints: calls of one key go to one endpoint, as long as it can take them. */
  readonly key?: string | undefined
  /**
   * The message that is being handled: the call has what is left of its time, and is given up with it.
   * Default: the call's own time only.
   */
  readonly within?: HandledMessage | undefined
}

/** What a call takes over from the message that it is made for. */
export interface HandledMessage {
  /** Milliseconds that are left until the message's caller gives up; `undefined` if it does not say. */
  readonly remaining: number | undefined
  readonly signal?: AbortSignal
  readonly kind?: 'request' | 'event'
}

/** What an event may say beside pattern and data. */
export type EmitOptions = Pick<CallOptions, 'timeout' | 'signal' | 'headers' | 'key' | 'within'>

/** What a stream may say beside pattern and data. */
export interface StreamOptions extends CallOptions {
  /**
   * Values the other side may send before more are asked for with `StreamCall.request`. Default: the transport
   * asks for more by itself, ahead of a receiver that takes them.
   */
  readonly demand?: number | undefined
}

/** A stream on its way. */
export interface StreamCall {
  /** Gives the call up. */
  cancel(): void
  /** The receiver takes values again, after its `next` has returned false. */
  resume(): void
  /** Lets the other side send `n` more values; only for a stream that was given a `demand`. */
  request(n: number): void
}

/** Takes the answer of a stream: any number of values, then one `complete` or one `error`. */
export interface CallReceiver {
  /**
   * Takes a value. `false`, and nothing else: that is enough until `StreamCall.resume`; values that are on their way
   * already still come. Nest's wire has no way to say it to the other side.
   */
  next(value: unknown): unknown
  complete(): void
  error(error: Error): void
}

/** Whoever can be called: a client transport. Every call settles exactly once. */
export interface Caller {
  /** The first value of the answer; `undefined` if it ends without one. */
  request(pattern: Pattern, data: unknown, options?: CallOptions): Promise<unknown>
  /** All values of the answer. */
  stream(pattern: Pattern, data: unknown, receiver: CallReceiver, options?: StreamOptions): StreamCall
  /**
   * Sends an event, which nobody answers. Resolves once a socket, or the connection to a broker, has it and is not
   * behind with what it has: who awaits each `emit` sends as fast as the other side reads.
   */
  emit(pattern: Pattern, data: unknown, options?: EmitOptions): Promise<void>
}

/** The one place where a request, a stream or an event becomes a `PendingCall`. */
import type { Caller, CallOptions, CallReceiver, EmitOptions, StreamCall, StreamOptions } from '../call.ts'
import { noteCall, unsendable } from '../errors/index.ts'
import { nameOf, type Pattern } from '../pattern.ts'
import { type PendingCall, PendingRequest, PendingStream, WINDOW_BYTES } from './pending-call.ts'
import { inheritedOptions } from './within.ts'

/** A call that has failed before it was made. */
export const NO_CALL: StreamCall = { cancel() {}, resume() {}, request() {} }

/** A caller that makes `PendingCall`s and passes them to `start`. */
export class PendingCaller implements Caller {
  /** Sends a call. A client that drains replaces it. */
  protected start: (call: PendingCall) => void
  readonly #timeout: number
  readonly #window: number

  /**
   * @param start sends a call; it never throws, but fails the call instead
   * @param timeout milliseconds for a call without its own timeout; 0 for no limit
   * @param window bytes of a stream that are requested ahead of its reader
   */
  constructor(start: (call: PendingCall) => void, timeout: number, window = WINDOW_BYTES) {
    this.start = start
    this.#timeout = timeout
    this.#window = window
  }

  request(pattern: Pattern, data: unknown, options?: CallOptions): Promise<unknown> {
    return new Promise((resolve) => {
      const own = options && this.#own(pattern, options)
      this.start(new PendingRequest(pattern, 'request', data, own, resolve))
    })
  }

  stream(pattern: Pattern, data: unknown, receiver: CallReceiver, options?: StreamOptions): StreamCall {
    let call: PendingStream
    try {
      const own: StreamOptions | undefined = this.#own(pattern, options)
      call = new PendingStream(pattern, data, receiver, own, own?.demand, this.#window)
    } catch (error) {
      receiver.error(unsendable(error))
      return NO_CALL
    }
    this.start(call)
    return call
  }

  emit(pattern: Pattern, data: unknown, options?: EmitOptions): Promise<void> {
    return new Promise<void>((resolve) => {
      const own = this.#own(pattern, options)
      this.start(new PendingRequest(pattern, 'event', data, own, resolve as () => void))
    })
  }

  /** @throws {TimeoutError} no time is left for the message in whose handler the call is made */
  #own<Options extends CallOptions>(pattern: Pattern, options: Options | undefined): Options | undefined {
    try {
      return options?.within ? inheritedOptions(pattern, options, this.#timeout) : options
    } catch (error) {
      throw noteCall(unsendable(error), () => ({ pattern: nameOf(pattern) }))
    }
  }
}

/** The values of a call as an async iterator. */
import type { CallReceiver, StreamCall } from '../call.ts'
import { PayloadTooLargeError } from '../errors/index.ts'
import { ValueQueue } from '../value-queue.ts'

/**
 * Most values that may wait for a slow reader. Only Nest's wire reaches this limit, because it cannot slow down a
 * server.
 */
const MAX_UNREAD = 100_000

/**
 * Makes the call when its first value is requested, and cancels the call when the loop is left.
 * @throws {PayloadTooLargeError} the reader of a stream on Nest's wire is more than 100,000 values behind
 */
export class StreamValues<Value> extends ValueQueue<Value> {
  readonly #start: (receiver: CallReceiver) => StreamCall
  #call: StreamCall | undefined
  #hasStarted = false

  /** @param start makes the call */
  constructor(start: (receiver: CallReceiver) => StreamCall) {
    // The call is `undefined` before the first `next`, and also if the call ended while it was started.
    super({ resume: () => this.#call?.resume(), cancel: () => this.#call?.cancel() })
    this.#start = start
  }

  override next(): Promise<IteratorResult<Value, undefined>> {
    if (!this.#hasStarted) {
      this.#hasStarted = true
      this.#call = this.#start({
        next: (value, bytes) => this.#take(value as Value, bytes),
        complete: () => this.end(),
        error: (error) => this.end({ error })
      })
    }
    return super.next()
  }

  override return(): Promise<IteratorReturnResult<undefined>> {
    this.#hasStarted = true
    return super.return()
  }

  #take(value: Value, bytes?: number): boolean {
    if (this.size < MAX_UNREAD) return this.push(value, bytes)
    this.#call?.cancel()
    const error = new PayloadTooLargeError(
      'the reader of a stream',
      MAX_UNREAD,
      this.size + 1,
      'unread values'
    )
    // A `PayloadTooLargeError` usually means that the call was not sent. This call has run.
    this.end({ error: Object.assign(error, { mayHaveRun: true }) })
    return false
  }
}

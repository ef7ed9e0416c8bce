/**
 * The values of a caller that sends a stream. The handler reads them as an iterable; what it has not read keeps the window
 * of the stream closed, so that the caller waits.
 */
import { ValueQueue } from '@elysia-microservices/transport/kit'
import type { Http2Stream } from '../http2/stream.ts'

/** The values of one call. */
export class CallInput {
  /** The values, as the handler gets them. */
  readonly values: ValueQueue<unknown>
  readonly #stream: Http2Stream
  /** Bytes of values that wait while the queue is full. */
  #owed = 0
  #isFull = false
  /** The handler reads no more: values are dropped. */
  #isLeft = false

  constructor(stream: Http2Stream) {
    this.#stream = stream
    this.values = new ValueQueue<unknown>({
      resume: () => {
        this.#isFull = false
        this.#giveBack()
      },
      cancel: () => {
        this.#isLeft = true
        this.#giveBack()
      }
    })
  }

  /** A value has arrived. @param size its bytes in the window of the stream */
  push(value: unknown, size: number): void {
    this.#owed += size
    if (!this.#isLeft && !this.values.push(value, size)) this.#isFull = true
    if (!this.#isFull || this.#isLeft) this.#giveBack()
  }

  /** The caller has sent everything, or its stream has failed. */
  end(error?: Error): void {
    this.values.end(error === undefined ? undefined : { error })
  }

  #giveBack(): void {
    const owed = this.#owed
    this.#owed = 0
    if (owed > 0) this.#stream.consumed(owed)
  }
}

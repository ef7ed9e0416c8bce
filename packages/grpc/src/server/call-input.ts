/**
 * The values of a caller that sends a stream. The handler reads them as an iterable; what it has not read keeps the window
 * of the stream closed, so that the caller waits.
 */
import { ValueQueue } from '@elysia-microservices/transport/kit'
import type { Http2Stream } from '../http2/stream.ts'

/** A value, and the bytes of its message when it is not compressed any more. */
export interface ReadValue {
  readonly value: unknown
  readonly length: number
}

/** A message that is read when there is room for it. */
interface Held {
  read(): ReadValue | undefined
  readonly size: number
}

/** The values of one call. */
export class CallInput {
  /** The values, as the handler gets them. */
  readonly values: ValueQueue<unknown>
  readonly #stream: Http2Stream
  /** Messages for which the queue has no room: a compressed one may be a thousand times as long as in the window. */
  #held: Held[] = []
  #isFull = false
  /** The handler reads no more: values are dropped. */
  #isLeft = false
  /** The caller has sent everything, while messages are held. */
  #isComplete = false

  constructor(stream: Http2Stream) {
    this.#stream = stream
    this.values = new ValueQueue<unknown>({
      resume: () => {
        this.#isFull = false
        this.#takeHeld()
      },
      cancel: () => {
        this.#isLeft = true
        const held = this.#held
        this.#held = []
        for (const { size } of held) this.#stream.consumed(size)
      }
    })
  }

  /**
   * A message has arrived.
   * @param read reads it; `undefined`: the call has failed by it
   * @param size its bytes in the window of the stream
   */
  push(read: () => ReadValue | undefined, size: number): void {
    if (this.#isLeft) return this.#stream.consumed(size)
    this.#held.push({ read, size })
    this.#takeHeld()
  }

  /** The caller has sent everything, or its stream has failed. */
  end(error?: Error): void {
    if (error === undefined && this.#held.length > 0) this.#isComplete = true
    else {
      this.#held = []
      this.values.end(error === undefined ? undefined : { error })
    }
  }

  /** The call has ended: nothing is read any more. */
  drop(): void {
    this.#held = []
    this.values.clear()
    this.values.end()
  }

  #takeHeld(): void {
    while (!this.#isFull && this.#held.length > 0) {
      const { read, size } = this.#held.shift() as Held
      const one = read()
      if (one === undefined) return
      if (!this.values.push(one.value, one.length)) this.#isFull = true
      this.#stream.consumed(size)
    }
    if (this.#isComplete && this.#held.length === 0) this.values.end()
  }
}

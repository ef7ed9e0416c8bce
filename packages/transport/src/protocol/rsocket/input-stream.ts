/**
 * What the other side sends in a channel, as an async iterable with demand: it may send only as many values
 * as have been asked for, and is asked for more as they are read.
 */

import type { Codec } from '../../codec/codec.ts'

/** Values asked for ahead of the reader. */
export const INPUT_WINDOW = 64
/** Values that may wait to be read: those asked for, and as many again for senders that count in another way. */
const MAX_UNREAD = 2 * INPUT_WINDOW

/** One reader, any number of values. */
export class InputStream implements AsyncIterable<unknown> {
  /** Reads the values that come after the first: all values of a stream are of one MIME type. */
  readonly codec: Codec
  readonly #requestN: (n: number) => void
  readonly #left: () => void
  #values: unknown[] = []
  #unread = 0
  #read = 0
  #ended = false
  #failure: Error | undefined
  #wake: (() => void) | undefined

  /**
   * @param codec reads the values that come after the first
   * @param requestN asks the sender for more values
   * @param left the reader has left before the end
   */
  constructor(codec: Codec, requestN: (n: number) => void, left: () => void) {
    this.codec = codec
    this.#requestN = requestN
    this.#left = left
  }

  /** A value has come. False if it is not taken, because its sender has sent far more than was asked for. */
  next(value: unknown): boolean {
    if (this.#ended) return true
    if (this.#unread === MAX_UNREAD) return false
    this.#unread++
    this.#values.push(value)
    this.#awake()
    return true
  }

  /** No more values come. */
  end(failure?: Error): void {
    if (this.#ended) return
    this.#ended = true
    this.#failure = failure
    this.#awake()
  }

  /** Nobody is to read any more, because the answer has ended. True if the sender does not know of an end yet. */
  close(): boolean {
    if (this.#ended) return false
    this.#values = []
    this.end()
    return true
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void, undefined> {
    try {
      while (true) {
        while (this.#values.length > 0) {
          const values = this.#values
          this.#values = []
          for (const value of values) {
            this.#unread--
            yield value
            this.#replenish()
          }
        }
        if (this.#failure !== undefined) throw this.#failure
        if (this.#ended) return
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    } finally {
      if (!this.#ended) {
        this.#ended = true
        this.#left()
      }
    }
  }

  #replenish(): void {
    if (++this.#read < INPUT_WINDOW / 2 || this.#ended) return
    this.#requestN(this.#read)
    this.#read = 0
  }

  #awake(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}

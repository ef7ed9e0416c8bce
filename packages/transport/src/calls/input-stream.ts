/**
 * The values that the other side sends in a channel, as an async iterable with demand: the sender may send only as many
 * values as were asked for, and is asked for more as they are read.
 */
import { ValueQueue } from '../value-queue.ts'

/** Most values asked for ahead of the reader. */
export const INPUT_WINDOW = 64
/** Bytes asked for ahead of the reader, as far as the sizes of values can be foretold; one value is, whatever its size. */
const WINDOW_BYTES = 1024 * 1024

/** Values asked for ahead of the reader at first: their sizes say how many more may come. */
const FIRST = 4
/** Most bytes that may wait, and one value: senders do not know yet that they are too many when values suddenly grow. */
const MOST_BYTES = 16 * WINDOW_BYTES

/** Why a value is not taken, in words for the sender. */
export const INPUT_REFUSED =
  'The caller has sent far more values than it was granted, or 16 MiB that the handler has not read'

/** The values of a channel for one reader. The first comes with the request, and its size says how many more may come. */
export class InputStream extends ValueQueue<unknown> {
  readonly #requestN: (n: number) => void
  #hasEnded = false
  /** Values that have come. */
  #arrived = 0
  /** Values that were asked for. */
  #granted = 0
  /** The size that the next value is expected to have, in bytes: that of the largest recent one. */
  #likelySize = 1

  /**
   * @param requestN asks the sender for more values
   * @param left the reader has left before the end
   */
  constructor(requestN: (n: number) => void, left: () => void) {
    super({ resume() {}, cancel: left })
    this.#requestN = requestN
  }

  /**
   * Adds a value. Returns false if the sender has sent far more than was asked for, or than can wait; then the value is
   * not taken (`INPUT_REFUSED`).
   * @param bytes its size. Default: not known
   */
  override push(value: unknown, bytes = 0): boolean {
    if (this.#hasEnded) return true
    // As many again for senders that count demand in another way.
    if (this.#arrived >= Math.max(this.#granted, INPUT_WINDOW) + this.#window) return false
    if (this.bytes >= MOST_BYTES) return false
    this.#arrived++
    this.#likelySize = Math.max(bytes, this.#likelySize - (this.#likelySize - bytes) / 8, 1)
    super.push(value, bytes)
    this.#replenish()
    return true
  }

  /** Asks for the first values, where none came with the request. */
  ask(): void {
    this.#replenish()
  }

  override end(failure?: { readonly error: unknown }): void {
    this.#hasEnded = true
    super.end(failure)
  }

  /** Ends reading because the answer has ended. Returns true if the sender must still be told. */
  close(): boolean {
    if (this.#hasEnded) return false
    this.clear()
    this.end()
    return true
  }

  /** The next value, when there is one; reading it grants the sender new demand. */
  override next(): Promise<IteratorResult<unknown, undefined>> {
    const result = super.next()
    this.#replenish()
    return result
  }

  /** Values that may be ahead of the reader. */
  get #window(): number {
    const most = Math.min(INPUT_WINDOW, FIRST * Math.max(1, this.#arrived))
    return Math.min(most, Math.max(1, Math.floor(WINDOW_BYTES / this.#likelySize)))
  }

  #replenish(): void {
    if (this.#hasEnded) return
    const ahead = this.#granted - (this.#arrived - this.size)
    const more = this.#window - ahead
    if (more < this.#window / 2) return
    this.#granted += more
    this.#requestN(more)
  }
}

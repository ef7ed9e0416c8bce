/**
 * The values that the other side sends in a channel, as an async iterable with demand: the sender may send only as many
 * values as the reader has requested, and gets new demand as the reader takes values.
 */
import { ValueQueue } from '../value-queue.ts'

/** Most values requested ahead of the reader. */
export const INPUT_WINDOW = 64
/**
 * Bytes requested ahead of the reader, estimated by the sizes of earlier values. One value is always requested,
 * whatever its size.
 */
const WINDOW_BYTES = 1_048_576

/** Values requested ahead of the reader at first: their sizes tell how many more can be requested. */
const FIRST = 4
/**
 * Most bytes that may wait; one value may exceed the limit. If values suddenly grow, a sender has already been granted too
 * many of them, so this limit is larger than WINDOW_BYTES.
 */
const MOST_BYTES = 16_777_216

/** The reason for which a value is refused, as a message for the sender. */
export const INPUT_REFUSED =
  'The caller has sent far more values than it was granted, or 16 MiB that the handler has not read'

/**
 * The values of a channel for one reader. The first value comes with the request; its size tells how many more can be
 * requested.
 */
export class InputStream extends ValueQueue<unknown> {
  readonly #requestN: (n: number) => void
  #hasEnded = false
  /** Number of values that have arrived. */
  #arrived = 0
  /** Number of values that were requested. */
  #granted = 0
  /** The expected size of the next value in bytes: the size of the largest recent value. */
  #likelySize = 1

  /**
   * @param requestN asks the sender for more values
   * @param left is called when the reader stops before the end
   */
  constructor(requestN: (n: number) => void, left: () => void) {
    super({ resume() {}, cancel: left })
    this.#requestN = requestN
  }

  /**
   * Adds a value. Returns false if the sender has sent many more values than were requested, or more bytes than may
   * wait; then the value is not added (`INPUT_REFUSED`).
   * @param bytes size of the value. Default: not known
   */
  override push(value: unknown, bytes = 0): boolean {
    if (this.#hasEnded) return true
    // Accepts another window of values, because some senders count demand in another way.
    if (this.#arrived >= Math.max(this.#granted, INPUT_WINDOW) + this.#window) return false
    if (this.bytes >= MOST_BYTES) return false
    this.#arrived++
    this.#likelySize = Math.max(bytes, this.#likelySize - (this.#likelySize - bytes) / 8, 1)
    super.push(value, bytes)
    this.#replenish()
    return true
  }

  /** Requests the first values, if no value came with the request. */
  ask(): void {
    this.#replenish()
  }

  /**
   * The caller has completed its input, or the input fails. Only a caller that completes ends it without a failure: so a
   * handler can tell the end from a cut. Further calls do nothing.
   */
  override end(failure?: { readonly error: unknown }): void {
    this.#hasEnded = true
    super.end(failure)
  }

  /**
   * Ends the input without a failure, because the handler has answered and needs no more values. Returns true if the sender does not know yet and must be told
   * to stop.
   */
  close(): boolean {
    if (this.#hasEnded) return false
    this.clear()
    this.end()
    return true
  }

  /** The next value, when there is one. Reading a value grants new demand to the sender. */
  override next(): Promise<IteratorResult<unknown, undefined>> {
    const result = super.next()
    this.#replenish()
    return result
  }

  /** Number of values that may be requested ahead of the reader. */
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

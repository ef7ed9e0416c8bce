/**
 * The values that the other side sends in a channel, as an async iterable with demand: the sender may send only as many
 * values as were asked for, and is asked for more as they are read.
 */
import { ValueQueue } from '../value-queue.ts'

/** Values asked for ahead of the reader. */
export const INPUT_WINDOW = 64
/** Most unread values: the window, and as many again for senders that count demand in another way. */
const MAX_UNREAD = 2 * INPUT_WINDOW

/** The values of a channel for one reader. */
export class InputStream extends ValueQueue<unknown> {
  readonly #requestN: (n: number) => void
  #hasEnded = false
  /** Values that have come. */
  #arrived = 0
  /** Read values for which new demand was granted. */
  #replaced = 0

  /**
   * @param requestN asks the sender for more values
   * @param left the reader has left before the end
   */
  constructor(requestN: (n: number) => void, left: () => void) {
    super({ resume() {}, cancel: left })
    this.#requestN = requestN
  }

  /** Adds a value. Returns false if the sender has sent far more than was asked for; then the value is not taken. */
  override push(value: unknown): boolean {
    if (this.#hasEnded) return true
    if (this.size === MAX_UNREAD) return false
    this.#arrived++
    super.push(value)
    this.#replenish()
    return true
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

  #replenish(): void {
    const read = this.#arrived - this.size - this.#replaced
    if (read < INPUT_WINDOW / 2 || this.#hasEnded) return
    this.#replaced += read
    this.#requestN(read)
  }
}

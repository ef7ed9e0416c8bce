/**
 * What the other side sends in a channel, as an async iterable with demand: it may send only as many values
 * as have been asked for, and is asked for more as they are read.
 */
import { ValueQueue } from '../value-queue.ts'

/** Values asked for ahead of the reader. */
export const INPUT_WINDOW = 64
/** Values that may wait to be read: those asked for, and as many again for senders that count in another way. */
const MAX_UNREAD = 2 * INPUT_WINDOW

/** One reader, any number of values. */
export class InputStream extends ValueQueue<unknown> {
  readonly #requestN: (n: number) => void
  #hasEnded = false
  /** Values that have come. */
  #arrived = 0
  /** Of those that were read, as many as have been replaced by demand. */
  #replaced = 0

  /**
   * @param requestN asks the sender for more values
   * @param left the reader has left before the end
   */
  constructor(requestN: (n: number) => void, left: () => void) {
    super({ resume() {}, cancel: left })
    this.#requestN = requestN
  }

  /** A value has come. False if it is not taken, because its sender has sent far more than was asked for. */
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

  /** Nobody is to read any more, because the answer has ended. True if the sender does not know of an end yet. */
  close(): boolean {
    if (this.#hasEnded) return false
    this.clear()
    this.end()
    return true
  }

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

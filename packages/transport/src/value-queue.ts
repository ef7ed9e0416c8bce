/** A queue between a sender that pushes values and a `for await` loop that reads them. */

/** Number of waiting values at which the sender must pause (HIGH), and at which it may continue (LOW). */
const HIGH = 256
const LOW = 64
/** The same limits in bytes, for values whose sizes are known. */
const HIGH_BYTES = 256 * 1024
const LOW_BYTES = 64 * 1024
/** Number of read values after which the list is compacted. */
const COMPACT_AT = 1024

/** The sender, as its queue uses it. */
export interface QueueSource {
  /** There is room for more values after `push` has returned false. */
  resume(): void
  /** The reader has stopped before the end. */
  cancel(): void
}

interface Waiting<Value> {
  resolve(result: IteratorResult<Value, undefined>): void
  reject(error: unknown): void
}

/** A queue of values for one reader. */
export class ValueQueue<Value> implements AsyncIterableIterator<Value, undefined, undefined> {
  #values: (Value | undefined)[] = []
  /** Index of the next value; earlier values were read. */
  #read = 0
  #hasEnded = false
  #failure: { readonly error: unknown } | undefined
  #isPaused = false
  #bytes = 0
  /**
   * Calls of `next` that wait for a value, oldest first. A loop makes one call at a time; other readers may make more.
   */
  #waiting: Waiting<Value>[] = []
  readonly #source: QueueSource | undefined

  /** @param source is called when there is room, and when the reader stops early */
  constructor(source?: QueueSource) {
    this.#source = source
  }

  /** Number of values that wait to be read. */
  get size(): number {
    return this.#values.length - this.#read
  }

  /** Approximate bytes of the values that wait to be read, as far as their sizes are known. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Adds a value. Returns false if the sender should pause until `QueueSource.resume`.
   * @param bytes the size of the value, if it is known
   */
  push(value: Value, bytes = 0): boolean {
    if (this.#hasEnded) return true
    const waiting = this.#waiting.shift()
    if (waiting !== undefined) {
      waiting.resolve({ done: false, value })
      return true
    }
    this.#values.push(value)
    this.#bytes += bytes
    if (this.size < HIGH && this.#bytes < HIGH_BYTES) return true
    this.#isPaused = true
    return false
  }

  /** Ends the queue. The reader gets the waiting values first, then the end or the failure. */
  end(failure?: { readonly error: unknown }): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#failure = failure
    const waiting = this.#waiting
    this.#waiting = []
    for (const reader of waiting) this.#tellEnd(reader)
  }

  /** Drops the values that wait to be read. */
  clear(): void {
    this.#values = []
    this.#read = 0
    this.#bytes = 0
  }

  /** Returns the next value as soon as there is one, else the end, or once the failure. */
  next(): Promise<IteratorResult<Value, undefined>> {
    if (this.#read < this.#values.length) return Promise.resolve({ done: false, value: this.#take() })
    return new Promise((resolve, reject) => {
      if (this.#hasEnded) this.#tellEnd({ resolve, reject })
      else this.#waiting.push({ resolve, reject })
    })
  }

  /** The reader stops early: waiting values are dropped. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.clear()
    if (!this.#hasEnded) {
      this.end()
      this.#source?.cancel()
    }
    this.#failure = undefined
    return { done: true, value: undefined }
  }

  /** Returns the queue itself, because a queue has only one reader. */
  [Symbol.asyncIterator](): this {
    return this
  }

  #take(): Value {
    const value = this.#values[this.#read] as Value
    // Subtracts the average size, because the sizes of single values are not stored.
    this.#bytes -= this.#bytes / this.size
    this.#values[this.#read++] = undefined
    if (this.#read === this.#values.length) {
      this.#values = []
      this.#read = 0
    } else if (this.#read === COMPACT_AT) {
      this.#values.splice(0, this.#read)
      this.#read = 0
    }
    if (this.#isPaused && this.size <= LOW && this.#bytes <= LOW_BYTES) {
      this.#isPaused = false
      this.#source?.resume()
    }
    return value
  }

  #tellEnd({ resolve, reject }: Waiting<Value>): void {
    const failure = this.#failure
    // The failure is passed on once: a reader that asks again gets the end, as from a generator.
    this.#failure = undefined
    if (failure === undefined) resolve({ done: true, value: undefined })
    else reject(failure.error)
  }
}

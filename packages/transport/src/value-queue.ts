/** Values on their way from whoever pushes them to a `for await` loop: what is there is given without waiting. */

/** Values that may wait before their sender is asked to pause, and below which it is asked to go on. */
const HIGH = 256
const LOW = 64
/** Values that are read before their places in the list are given up. */
const COMPACT_AT = 1024

/** What a queue does to its sender. */
export interface QueueSource {
  /** There is room for more values, after `push` has returned false. */
  resume(): void
  /** The reader has left before the end. */
  cancel(): void
}

interface Waiting<Value> {
  resolve(result: IteratorResult<Value, undefined>): void
  reject(error: unknown): void
}

/** One reader, any number of values. */
export class ValueQueue<Value> implements AsyncIterableIterator<Value, undefined, undefined> {
  #values: (Value | undefined)[] = []
  /** Values before it are read. */
  #read = 0
  #hasEnded = false
  #failure: { readonly error: unknown } | undefined
  #isPaused = false
  /** Calls of `next` that wait for a value, oldest first: a loop has one at a time, others may have more. */
  #waiting: Waiting<Value>[] = []
  readonly #source: QueueSource | undefined

  /** @param source is told of room and of a reader that leaves */
  constructor(source?: QueueSource) {
    this.#source = source
  }

  /** Values that wait to be read. */
  get size(): number {
    return this.#values.length - this.#read
  }

  /** A value has come. False: enough wait, see `QueueSource.resume`. */
  push(value: Value): boolean {
    if (this.#hasEnded) return true
    const waiting = this.#waiting.shift()
    if (waiting !== undefined) {
      waiting.resolve({ done: false, value })
      return true
    }
    this.#values.push(value)
    if (this.size < HIGH) return true
    this.#isPaused = true
    return false
  }

  /** No more values come; with a failure, the reader gets it behind the values that are there. */
  end(failure?: { readonly error: unknown }): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#failure = failure
    const waiting = this.#waiting
    this.#waiting = []
    for (const reader of waiting) this.#tellEnd(reader)
  }

  /** Forgets what waits to be read. */
  clear(): void {
    this.#values = []
    this.#read = 0
  }

  next(): Promise<IteratorResult<Value, undefined>> {
    if (this.#read < this.#values.length) return Promise.resolve({ done: false, value: this.#take() })
    return new Promise((resolve, reject) => {
      if (this.#hasEnded) this.#tellEnd({ resolve, reject })
      else this.#waiting.push({ resolve, reject })
    })
  }

  /** The reader leaves: what waits is forgotten. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.clear()
    if (!this.#hasEnded) {
      this.end()
      this.#source?.cancel()
    }
    this.#failure = undefined
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #take(): Value {
    const value = this.#values[this.#read] as Value
    this.#values[this.#read++] = undefined
    if (this.#read === this.#values.length) {
      this.#values = []
      this.#read = 0
    } else if (this.#read === COMPACT_AT) {
      this.#values.splice(0, this.#read)
      this.#read = 0
    }
    if (this.#isPaused && this.size <= LOW) {
      this.#isPaused = false
      this.#source?.resume()
    }
    return value
  }

  #tellEnd({ resolve, reject }: Waiting<Value>): void {
    const failure = this.#failure
    // Told once: a reader that asks again after a failure gets the end, as from a generator.
    this.#failure = undefined
    if (failure === undefined) resolve({ done: true, value: undefined })
    else reject(failure.error)
  }
}

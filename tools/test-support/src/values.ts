/** A queue of values: tests wait for its values, or send them into channels. */
export class Values<Value> implements AsyncIterable<Value> {
  readonly #waiting: Value[] = []
  #wake: (() => void) | undefined
  #ended = false
  #failure: Error | undefined
  #left = () => {}
  /** How many values were taken. */
  taken = 0
  /** Resolves when a reader has left, before the end or at the end. */
  readonly left = new Promise<void>((resolve) => {
    this.#left = resolve
  })

  constructor(...values: Value[]) {
    this.#waiting.push(...values)
  }

  put(value: Value): void {
    this.#waiting.push(value)
    this.#wake?.()
  }

  end(failure?: Error): void {
    this.#ended = true
    this.#failure = failure
    this.#wake?.()
  }

  /** The next value. */
  async take(): Promise<Value> {
    const { value, done } = await this.#next()
    if (done === true) throw new Error('There are no more values')
    return value
  }

  [Symbol.asyncIterator](): AsyncIterator<Value, undefined> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.end()
        this.#left()
        return { value: undefined, done: true }
      }
    }
  }

  async #next(): Promise<IteratorResult<Value, undefined>> {
    while (this.#waiting.length === 0) {
      if (this.#failure !== undefined) throw this.#failure
      if (this.#ended) {
        this.#left()
        return { value: undefined, done: true }
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    this.taken++
    return { value: this.#waiting.shift() as Value, done: false }
  }
}

/** Resolves when a signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Reads all values to the end. */
export async function collected<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const all: Value[] = []
  for await (const value of values) all.push(value)
  return all
}

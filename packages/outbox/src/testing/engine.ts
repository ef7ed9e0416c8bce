/** An engine in this process for tests: keeps what is published, in order, and fails as it is told. */
import type { Published, Publisher, PublishOptions } from '../publisher.ts'

/** An event as the engine got it. */
export interface Stored {
  readonly pattern: string
  readonly data: unknown
  readonly options: PublishOptions | undefined
}

export class Engine implements Publisher {
  /** Each event in the order in which it came, duplicates too. */
  readonly stored: Stored[] = []
  /** How many are under way. */
  underWay = 0
  /** The most that were under way at a time, in all and of one key. */
  mostUnderWay = 0
  mostOfOneKey = 0
  /** Called for each attempt: what it throws or returns is what `publish` does; `undefined` to store the event. */
  fail: (event: Stored) => unknown = () => undefined
  readonly #keys = new Map<string, number>()

  async publish(pattern: string, data: unknown, options?: PublishOptions): Promise<Published> {
    const event = { pattern, data, options }
    const key = options?.key
    this.#count(key, 1)
    try {
      const failure = this.fail(event)
      if (failure !== undefined) return (await failure) as Published
      await new Promise<void>((resolve) => setImmediate(resolve))
      const duplicate = this.stored.some((known) => known.options?.id === options?.id)
      this.stored.push(event)
      return { id: options?.id ?? '', position: String(this.stored.length), duplicate }
    } finally {
      this.#count(key, -1)
    }
  }

  #count(key: string | undefined, change: 1 | -1): void {
    this.underWay += change
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay)
    if (key === undefined) return
    const ofKey = (this.#keys.get(key) ?? 0) + change
    this.#keys.set(key, ofKey)
    this.mostOfOneKey = Math.max(this.mostOfOneKey, ofKey)
  }

  /** The data of what was stored with a pattern. */
  of(pattern: string): unknown[] {
    return this.stored.filter((event) => event.pattern === pattern).map(({ data }) => data)
  }
}

/** A logger that keeps its lines. */
export class Lines {
  readonly errors: string[] = []
  readonly warnings: string[] = []
  error(message: string): void {
    this.errors.push(message)
  }
  warn(message: string): void {
    this.warnings.push(message)
  }
}

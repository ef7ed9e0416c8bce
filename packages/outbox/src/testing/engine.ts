/** A broker in this process for tests. It stores published events in their order, and fails when a test says so. */
import type { Publisher, RelayPublished, RelayPublishOptions } from '../publisher.ts'

/** An event as the broker has received it. */
export interface Stored {
  readonly pattern: string
  readonly data: unknown
  readonly options: RelayPublishOptions | undefined
}

export class Engine implements Publisher {
  /** All events in the order in which they arrived, including duplicates. */
  readonly stored: Stored[] = []
  /** The number of events that are being stored. */
  underWay = 0
  /** The largest number of events that were being stored at the same time, in all and of one key. */
  mostUnderWay = 0
  mostOfOneKey = 0
  /** Called for each attempt. Its error or result becomes that of `publish`; `undefined` stores the event. */
  fail: (event: Stored) => unknown = () => undefined
  readonly #keys = new Map<string, number>()

  async publish(pattern: string, data: unknown, options?: RelayPublishOptions): Promise<RelayPublished> {
    const event = { pattern, data, options }
    const key = options?.key
    this.#count(key, 1)
    try {
      const failure = this.fail(event)
      if (failure !== undefined) return (await failure) as RelayPublished
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

  /** The data of the stored events of a pattern. */
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

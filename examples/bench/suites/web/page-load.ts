/** The load inside a page: callers that make the next request after each answer, or the reader of one stream. */
import type { SmallRecord } from '../../payload/samples.ts'
import type { StreamName, WebPeer } from './peer.ts'

/** The counts of a page. */
export interface PageTotals {
  readonly completed: number
  readonly seconds: number
  readonly errors: number
  readonly firstError: string | null
  /** Latencies in microseconds, with their numbers. */
  readonly latencies: readonly (readonly [microseconds: number, count: number])[]
}

export class PageLoad {
  readonly #peer: WebPeer
  readonly #latencies = new Map<number, number>()
  #begun = 0
  #completed = 0
  #seconds = 0
  #errors = 0
  #firstError: string | null = null
  #asked = 0
  #isOver = false

  constructor(peer: WebPeer) {
    this.#peer = peer
  }

  /** Begins. Resolves with the first answer, or the first value. */
  start(workload: string, callers: number): Promise<void> {
    return new Promise((resolve) => {
      if (workload === 'request' || workload === 'http2')
        for (let n = 0; n < callers; n++) void this.#ask(resolve)
      else void this.#read(workload === 'stream' ? 'records' : 'blocks', resolve)
    })
  }

  /** Counts from now on. */
  measure(): void {
    this.#completed = 0
    this.#latencies.clear()
    this.#begun = performance.now()
  }

  /** Blocks the page, as if it computed or was suspended: it reads and shows nothing. */
  standStill(seconds: number): void {
    const end = performance.now() + seconds * 1_000
    while (performance.now() < end);
  }

  /** Stops counting. */
  stop(): PageTotals {
    this.#seconds = (performance.now() - this.#begun) / 1_000
    this.#isOver = true
    return {
      completed: this.#completed,
      seconds: this.#seconds,
      errors: this.#errors,
      firstError: this.#firstError,
      latencies: [...this.#latencies]
    }
  }

  async #ask(answered: () => void): Promise<void> {
    while (!this.#isOver) {
      const id = String(this.#asked++)
      const from = performance.now()
      try {
        const user = await this.#peer.user(id)
        if (user.id !== id) throw new Error(`the answer to ${id} was ${JSON.stringify(user)}`)
        const microseconds = Math.round((performance.now() - from) * 1_000)
        this.#latencies.set(microseconds, (this.#latencies.get(microseconds) ?? 0) + 1)
        this.#completed++
      } catch (error) {
        await this.#failed(error)
      }
      answered()
    }
  }

  async #read(name: StreamName, first: () => void): Promise<void> {
    while (!this.#isOver) {
      let next = 0
      try {
        await this.#peer.read(name, (value) => {
          if (name === 'records' && (value as SmallRecord).id !== next)
            throw new Error(`expected value ${next}, got ${JSON.stringify(value)}`)
          next++
          this.#completed++
          first()
        })
      } catch (error) {
        await this.#failed(error)
      }
      first()
    }
  }

  async #failed(error: unknown): Promise<void> {
    if (this.#isOver) return
    this.#errors++
    this.#firstError ??= String(error)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

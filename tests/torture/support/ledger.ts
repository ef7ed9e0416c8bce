/** Records requests: each has an id, which is also its answer, and must settle exactly once. */

import { PATIENCE, pause } from '@elysia-microservices/test-support'
import { type CallOptions, type ClientTransport, MicroserviceError } from '@elysia-microservices/transport'
import type { Row } from '../scenario.ts'

/** The figures of a row that a ledger counts. */
export type Account = Pick<Row, 'requests' | 'succeeded' | 'failed' | 'lost' | 'doubled' | 'hung'>

/** How a request has ended. */
export type Outcome = { readonly error: MicroserviceError } | { readonly error: undefined }

/** Counts the outcomes of requests. */
export class Ledger {
  readonly #open = new Set<number>()
  readonly #succeeded = new Set<number>()
  /** Requests whose error says that they cannot have run. */
  readonly #notRun = new Set<number>()
  readonly #errors = new Map<string, number>()
  #next = 1
  #requests = 0
  #failed = 0
  #lost = 0
  #settledTwice = 0
  #hung = 0
  #waiting: (() => void)[] = []
  /** The losses, as text. */
  readonly losses: string[] = []

  /** The number of requests that have not settled yet. */
  get open(): number {
    return this.#open.size
  }

  get succeeded(): number {
    return this.#succeeded.size
  }

  /** The number of requests by the code of their error. */
  get errors(): ReadonlyMap<string, number> {
    return this.#errors
  }

  /** Resolves when the next request succeeds. */
  nextSuccess(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Begins a request. @returns its id */
  begin(): number {
    const id = this.#next++
    this.#requests++
    this.#open.add(id)
    return id
  }

  /** Notes that a request was answered. `own` is whether the answer is its own id. */
  answered(id: number, own: boolean, answer: unknown): void {
    if (!this.#settle(id)) return
    if (!own) return this.#lose(`request ${id} was answered with ${JSON.stringify(answer)?.slice(0, 80)}`)
    this.#succeeded.add(id)
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  /** Notes that a request has failed. */
  failed(id: number, error: unknown): void {
    if (!this.#settle(id)) return
    if (!(error instanceof MicroserviceError))
      return this.#lose(`request ${id} failed with something that is none of our errors: ${error}`)
    this.#failed++
    this.#errors.set(error.code, (this.#errors.get(error.code) ?? 0) + 1)
    if (!error.mayHaveRun) this.#notRun.add(id)
  }

  /** Makes a request whose answer is its id. Resolves when it has settled. */
  async request(client: ClientTransport, pattern: string, options?: CallOptions): Promise<Outcome> {
    const id = this.begin()
    try {
      const answer = await client.request(pattern, id, options)
      this.answered(id, answer === id, answer)
      return { error: undefined }
    } catch (error) {
      this.failed(id, error)
      return { error: error as MicroserviceError }
    }
  }

  /**
   * Makes the same request as a stream of one value: a stream shows when a call settles twice, which a promise would
   * hide.
   */
  stream(client: ClientTransport, pattern: string, options?: CallOptions): Promise<Outcome> {
    const id = this.begin()
    return new Promise((resolve) => {
      const values: unknown[] = []
      client.stream(
        pattern,
        id,
        {
          next: (value) => values.push(value),
          complete: () => {
            this.answered(id, values.length === 1 && values[0] === id, values)
            resolve({ error: undefined })
          },
          error: (error) => {
            this.failed(id, error)
            resolve({ error: error as MicroserviceError })
          }
        },
        options
      )
    })
  }

  /** Resolves when all requests have settled, or counts the others as hung when the time is over. */
  async settled(patience = PATIENCE): Promise<void> {
    for (const end = performance.now() + patience; this.#open.size > 0 && performance.now() < end; ) {
      await pause(20)
    }
    this.#hung = this.#open.size
  }

  /**
   * The figures of a row.
   * @param runs how often the handler of each request ran
   * @param idempotent whether a request may run twice
   */
  account(runs: ReadonlyMap<number, number>, idempotent = false): Account {
    const ranTwice = idempotent ? 0 : [...runs.values()].filter((times) => times > 1).length
    return {
      requests: this.#requests,
      succeeded: this.#succeeded.size,
      failed: this.#failed,
      lost: this.#lost,
      doubled: this.#settledTwice + ranTwice,
      hung: this.#hung
    }
  }

  /** Sentences about requests that ran although their error says that they cannot have run. */
  untruths(runs: ReadonlyMap<number, number>): string[] {
    const never = [...this.#succeeded].filter((id) => !runs.has(id)).length
    const untrue = [...this.#notRun].filter((id) => runs.has(id)).length
    const sentences: string[] = [...this.losses]
    if (never > 0) sentences.push(`${never} requests were answered though their handler never ran`)
    if (untrue > 0) sentences.push(`${untrue} requests ran though their error said they cannot have`)
    return sentences
  }

  #settle(id: number): boolean {
    if (this.#open.delete(id)) return true
    this.#settledTwice++
    return false
  }

  #lose(what: string): void {
    this.#lost++
    if (this.losses.length < 5) this.losses.push(what)
  }
}

/** The numbers of errors by code, as text: `12 CONNECTION, 3 TIMEOUT`. */
export function errorsInWords(errors: ReadonlyMap<string, number>): string {
  return [...errors].map(([code, count]) => `${count} ${code}`).join(', ')
}

/** Counts the outcomes of requests, and runs well-behaved clients that make requests all the time. */
import { deepStrictEqual } from 'node:assert'
import type { Logger, Transport } from 'elysia-microservices'
import { connect, MicroserviceError, type UntypedClient } from 'elysia-microservices/client'
import type { Row } from '../scenario.ts'

/**
 * Milliseconds after which a call that has not settled counts as hung: far longer than any timeout in the scenarios.
 */
const HANGS = 60_000

/** A logger for clients that are expected to lose their connections. */
export const SILENT: Logger = { error() {}, warn() {} }

/** The expected value of a call that may return any value. */
export const ANYTHING = Symbol('anything')

/** The outcomes of calls, as columns of a row. */
export interface Report {
  readonly columns: Pick<Row, 'requests' | 'succeeded' | 'failed' | 'lost' | 'hung' | 'doubled'>
  readonly broken: readonly string[]
}

/** The outcome of a call. */
export type Outcome = 'succeeded' | 'failed' | 'lost' | 'hung'

/** Counts outcomes. */
export class Tally {
  requests = 0
  readonly counts = { succeeded: 0, failed: 0, lost: 0, hung: 0 }
  /** The first error of each name, and the first wrong answer, as text. */
  readonly reasons = new Map<string, string>()

  /**
   * Counts the outcome of a call: an error of this library is a failure; another error, or another value, is a loss.
   */
  async expect(call: () => Promise<unknown>, expected: unknown): Promise<Outcome> {
    this.requests++
    const outcome = await this.#outcome(call, expected)
    this.counts[outcome]++
    return outcome
  }

  add(other: Tally): void {
    this.requests += other.requests
    for (const key of Object.keys(this.counts) as Outcome[]) this.counts[key] += other.counts[key]
    for (const [name, reason] of other.reasons) this.#note(name, reason)
  }

  /** The columns of a row. */
  get columns(): Report['columns'] {
    return { requests: this.requests, ...this.counts, doubled: 0 }
  }

  report(mustSucceed: boolean): Report {
    return { columns: this.columns, broken: this.broken(mustSucceed) }
  }

  /** Sentences about broken guarantees, if every call had to settle, or also to succeed. */
  broken(mustSucceed: boolean): string[] {
    const { failed, lost, hung } = this.counts
    const why = [...this.reasons.values()].join('; ')
    const broken: string[] = []
    if (mustSucceed && failed > 0) broken.push(`${failed} honest requests failed: ${why}`)
    if (lost > 0) broken.push(`${lost} requests ended with neither their answer nor a typed error: ${why}`)
    if (hung > 0) broken.push(`${hung} requests had not settled after ${HANGS} ms`)
    return broken
  }

  async #outcome(call: () => Promise<unknown>, expected: unknown): Promise<Outcome> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const hung = new Promise<'hung'>((resolve) => {
      timer = setTimeout(resolve, HANGS, 'hung')
    })
    try {
      return await Promise.race([hung, this.#settled(call, expected)])
    } finally {
      clearTimeout(timer)
    }
  }

  async #settled(call: () => Promise<unknown>, expected: unknown): Promise<Outcome> {
    let value: unknown
    try {
      value = await call()
    } catch (error) {
      const typed = error instanceof MicroserviceError
      this.#note(typed ? error.name : 'untyped', String(error))
      return typed ? 'failed' : 'lost'
    }
    if (expected === ANYTHING) return 'succeeded'
    try {
      deepStrictEqual(value, expected)
      return 'succeeded'
    } catch {
      this.#note(
        'wrong',
        `${JSON.stringify(value)?.slice(0, 80)} for ${JSON.stringify(expected)?.slice(0, 80)}`
      )
      return 'lost'
    }
  }

  #note(name: string, reason: string): void {
    if (!this.reasons.has(name)) this.reasons.set(name, reason)
  }
}

/** A client that makes one request after the other, all of which must be answered correctly. */
export class HonestClient {
  readonly tally = new Tally()
  readonly client: UntypedClient
  readonly #times: number[] = []
  #asking = true
  readonly #done: Promise<void>

  /** @param over the protocol over TCP, or another transport */
  constructor(port: number, over: 'nest' | 'rsocket' | Transport) {
    // A long timeout, because the machine may be busy. No retries, so that each request is counted once.
    const timeout = 20_000
    const place = { host: '127.0.0.1', port, retry: false, reconnect: false } as const
    this.client =
      typeof over === 'string'
        ? connect({ protocol: over, ...place, timeout })
        : connect({ transport: over, timeout })
    this.#done = Promise.all([this.#ask('echo'), this.#ask('later')]).then(() => {})
  }

  /** Waits until this number of requests was answered. */
  async answered(count: number): Promise<void> {
    while (this.tally.requests < count) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  /** The slowest answer, in milliseconds. */
  get slowest(): number {
    return this.#times.reduce((slowest, time) => Math.max(slowest, time), 0)
  }

  /** The time in milliseconds within which this share of the answers came. */
  percentile(share: number): number {
    return this.#times.toSorted((one, other) => one - other)[Math.floor(share * this.#times.length)] ?? 0
  }

  /** Stops the client. @returns the outcomes of its requests */
  async stop(): Promise<Tally> {
    this.#asking = false
    await this.#done
    await this.client.close()
    return this.tally
  }

  async #ask(pattern: string): Promise<void> {
    for (let n = 0; this.#asking; n++) {
      const data = { pattern, n, text: 'aé€😀' }
      const began = performance.now()
      await this.tally.expect(() => this.client.request(pattern, data), data)
      this.#times.push(performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
}

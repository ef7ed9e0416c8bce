/**
 * Callers that make a request, wait for its outcome, and make the next: at once after an answer, later after anything
 * else.
 */
import type { Histogram } from 'hdr-histogram-js'
import { makeHistogram } from '../../load/histogram.ts'
import type { Askers, Outcome } from './askers.ts'

/**
 * The average milliseconds until a caller without an answer tries again, as in the `Retry-After` of our gateways. The
 * real times are random, between half of it and one and a half times of it.
 */
export const COME_AGAIN = 1_000
/** Milliseconds after which a caller that pauses checks whether it must stop. */
const STEP = 100

export interface Tally {
  readonly answered: Histogram
  readonly refused: Histogram
  readonly failed: Histogram
  /** The first message of each kind of outcome. */
  readonly told: Partial<Record<Outcome['kind'], string>>
}

const newTally = (): Tally => ({
  answered: makeHistogram(),
  refused: makeHistogram(),
  failed: makeHistogram(),
  told: {}
})

export class Callers {
  readonly #askers: Askers
  readonly #callers: number
  #tally = newTally()
  #isRunning = false
  #loops: Promise<void>[] = []

  constructor(askers: Askers, callers: number) {
    this.#askers = askers
    this.#callers = callers
  }

  start(): void {
    this.#isRunning = true
    this.#loops = Array.from({ length: this.#callers }, (_, caller) => this.#loop(caller))
  }

  /** The outcomes of the requests that have ended since the last call. */
  take(): Tally {
    const taken = this.#tally
    this.#tally = newTally()
    return taken
  }

  /** Stops. Resolves when all callers have the answer that they wait for, or after `patience` milliseconds. */
  async stop(patience: number): Promise<void> {
    this.#isRunning = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, patience)
    })
    await Promise.race([Promise.all(this.#loops), late])
    clearTimeout(timer)
  }

  async #loop(caller: number): Promise<void> {
    while (this.#isRunning) {
      const began = performance.now()
      const { kind, told } = await this.#askers.ask(caller)
      this.#tally[kind].recordValue(Math.max(1, Math.round((performance.now() - began) * 1000)))
      if (kind === 'answered') continue
      this.#tally.told[kind] ??= told
      await this.#pause()
    }
  }

  async #pause(): Promise<void> {
    const until = performance.now() + COME_AGAIN * (0.5 + Math.random())
    // In steps, so that callers that pause stop together with the measurement.
    for (
      let left = until - performance.now();
      this.#isRunning && left > 0;
      left = until - performance.now()
    ) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(STEP, left)))
    }
  }
}

/** Callers that each ask, wait for what comes of it, and ask again; at once after an answer, later after anything else. */
import type { Histogram } from 'hdr-histogram-js'
import { makeHistogram } from '../../load/histogram.ts'
import type { Askers, Outcome } from './askers.ts'

/**
 * Milliseconds, on average, until a caller that got no answer comes again: what our gateways say in `Retry-After`.
 * They come spread over half of it and half as much again.
 */
export const COME_AGAIN = 1_000
/** Milliseconds after which a caller that pauses looks whether all is over. */
const STEP = 100

export interface Tally {
  readonly answered: Histogram
  readonly refused: Histogram
  readonly failed: Histogram
  /** The message that the first one of each kind got. */
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

  /** Resolves when everybody has got the answer they wait for, or `patience` milliseconds have passed. */
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
    // In steps, so that the end of the measurement is the end of it.
    for (
      let left = until - performance.now();
      this.#isRunning && left > 0;
      left = until - performance.now()
    ) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(STEP, left)))
    }
  }
}

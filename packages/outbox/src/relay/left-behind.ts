/** The events that a relay has left behind, because the broker did not answer them in their round. */
import { addTo, emptyOutcome, type Outcome, type Unanswered } from './chains.ts'

/** Collects the outcome of events that were left behind, until a later round records it. */
export class LeftBehind {
  readonly #unanswered = new Set<Unanswered>()
  readonly #told: () => void
  #late = emptyOutcome()

  /** @param told is called when an outcome is there to be recorded */
  constructor(told: () => void) {
    this.#told = told
  }

  /** Number of events that are not answered yet. */
  get size(): number {
    return this.#unanswered.size
  }

  add(unanswered: readonly Unanswered[]): void {
    for (const one of unanswered) {
      this.#unanswered.add(one)
      void one.ended.then((outcome) => {
        this.#unanswered.delete(one)
        this.putBack(outcome)
        this.#told()
      })
    }
  }

  /** Takes the outcome of the events that have ended since the last call. */
  take(): Outcome {
    const late = this.#late
    this.#late = emptyOutcome()
    return late
  }

  /** Collects an outcome, also one that could not be recorded. */
  putBack(outcome: Outcome): void {
    addTo(this.#late, outcome)
  }

  /** Waits for all answers, and takes the outcome. */
  async takeAll(): Promise<Outcome> {
    await Promise.all([...this.#unanswered].map(({ ended }) => ended))
    return this.take()
  }
}

/** Number of values that a stream may send in one turn of the event loop. */
const VALUES_A_TURN = 1_000

/**
 * Makes a stream continue in a later turn of the event loop. Without this pause, a stream that always has values would
 * never end its turn.
 */
export class TurnRoom {
  readonly #resume: () => void
  /** Values sent in this turn. */
  #sent = 0

  /** @param resume is called when there is room again after `isLeft` was false */
  constructor(resume: () => void) {
    this.#resume = resume
  }

  /** Counts a value that is sent. */
  use(): void {
    this.#sent++
  }

  /** Whether one more value may be sent in this turn. */
  get isLeft(): boolean {
    if (this.#sent < VALUES_A_TURN) return true
    if (this.#sent === VALUES_A_TURN) {
      this.#sent++
      setTimeout(() => {
        this.#sent = 0
        this.#resume()
      }, 0)
    }
    return false
  }
}

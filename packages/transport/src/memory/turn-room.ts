/** Values of one stream after which other work gets its turn. */
const VALUES_A_TURN = 1_000

/** Lets a stream go on in another turn, where nothing else would ever end the one it has. */
export class TurnRoom {
  readonly #resume: () => void
  /** Values sent in this turn. */
  #sent = 0

  /** @param resume is called when there is room again, after `isLeft` was false */
  constructor(resume: () => void) {
    this.#resume = resume
  }

  /** A value is sent. */
  use(): void {
    this.#sent++
  }

  /** Whether one more may be sent in this turn. */
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

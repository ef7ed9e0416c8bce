import { nextTurn } from '../next-turn.ts'

/** Bytes that a stream may send in one turn of the event loop. */
const SIZE_A_TURN = 1_048_576
/** Bytes that are counted for each value in addition to its own. */
const OVERHEAD = 16

/**
 * The room of one stream in a turn of the event loop. A generator rests by itself, but an Observable may emit without
 * end before anybody can take its values: without room, they are held, up to a limit.
 */
export class TurnRoom {
  readonly #resume: () => void
  /** Bytes sent since the last turn that was waited for. */
  #sent = 0
  #isWaiting = false

  /** @param resume is called when there is room again after `isLeft` was false */
  constructor(resume: () => void) {
    this.#resume = resume
  }

  /** Counts a value that is sent. */
  use(size: number): void {
    this.#sent += size + OVERHEAD
  }

  /** Whether one more value may be sent in this turn. */
  get isLeft(): boolean {
    if (this.#sent < SIZE_A_TURN) return true
    if (!this.#isWaiting) {
      this.#isWaiting = true
      nextTurn(() => {
        this.#isWaiting = false
        this.#sent = 0
        this.#resume()
      })
    }
    return false
  }
}

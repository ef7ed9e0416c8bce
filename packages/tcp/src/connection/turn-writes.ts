/**
 * Answers of one connection that are ready at different moments of a turn, such as those of handlers that wait for a
 * timer or a database: each would be a write of its own. The first leaves at once; if others keep following in the
 * same turn, they are collected until it ends. Where none follow, nothing waits: the end of a turn costs a pass of the
 * event loop, so it is asked for only now and then, to see whether it has become worth it.
 */
import type { Flushable } from './flush-queue.ts'

/** Writes until the next look. */
const PAUSE = 16
/** Turns in a row in which nothing followed after which the end of a turn is not waited for. */
const PATIENCE = 4

/** Decides for one connection whether the end of a turn is waited for. */
export class TurnWrites implements Flushable {
  readonly #ended: () => void
  /** Something followed in the last turns. */
  #isWorthIt = false
  #emptyTurns = 0
  #untilLook = PAUSE

  /** @param ended is called at the end of a turn that was waited for */
  constructor(ended: () => void) {
    this.#ended = ended
  }

  /** Something was written, and more is under way. True: what follows is to be collected until the turn ends. */
  written(): boolean {
    if (this.#isWorthIt) return true
    this.#untilLook--
    return this.#untilLook <= 0
  }

  /** Something followed, and was collected. */
  collected(): void {
    this.#isWorthIt = true
    this.#emptyTurns = -1
  }

  /** The turn has ended. */
  flush(): void {
    this.#emptyTurns++
    if (!this.#isWorthIt || this.#emptyTurns === PATIENCE) {
      this.#isWorthIt = false
      this.#untilLook = PAUSE
    }
    this.#ended()
  }
}

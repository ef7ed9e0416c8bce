/**
 * Answers of one connection that are ready at different moments of a turn, such as those of handlers that wait for a
 * timer or a database, and the values of a stream: each would be a write of its own. The first leaves at once; if
 * others keep following in the same turn, they are collected until it ends. A connection that writes once for what was
 * read never waits. Where others write more often, the end of a turn is asked for now and then, to see whether anything
 * follows before it: it costs a pass of the event loop.
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

  /**
   * Something was written. True: what follows is to be collected until the turn ends.
   * @param hasRead something was read before it, since the last write
   */
  written(hasRead: boolean): boolean {
    if (this.#isWorthIt) return true
    if (!hasRead) this.#untilLook--
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

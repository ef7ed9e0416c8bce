/**
 * Decides whether a connection collects its output until the end of the turn. Answers of handlers that wait for a timer
 * or a database, and values of a stream, become ready at different moments of a turn, and each would be a write of its
 * own. The first is written at once. If more keep following in the same turn, they are collected until it ends and leave
 * in one write. Waiting for the end of a turn costs a pass of the event loop: so connections that write only once after
 * each read never wait, and others try it now and then to see whether anything follows.
 */
import type { Flushable } from './flush-queue.ts'

/** Writes between two tries. */
const PAUSE = 16
/** Waiting stops after this many turns in a row in which nothing followed. */
const PATIENCE = 4

/** Decides for one connection whether it waits for the end of the turn. */
export class TurnWrites implements Flushable {
  readonly #ended: () => void
  /** Whether a write that answers something just read may have to wait too: `written` decides it. */
  isDue = false
  /** Something followed in the last turns, so waiting pays. */
  #isWorthIt = false
  #emptyTurns = 0
  #untilLook = PAUSE

  /** @param ended is called at the end of a turn for which the connection has waited */
  constructor(ended: () => void) {
    this.#ended = ended
  }

  /**
   * Something was written. Returns true if further output is to be collected until the turn ends.
   * @param hasRead whether something was read since the last write
   */
  written(hasRead: boolean): boolean {
    if (this.#isWorthIt) return true
    if (!hasRead) this.#untilLook--
    this.isDue = this.#untilLook <= 0
    return this.isDue
  }

  /** Further output came and was collected. */
  collected(): void {
    this.#isWorthIt = true
    this.isDue = true
    this.#emptyTurns = -1
  }

  /** The turn has ended. */
  flush(): void {
    this.#emptyTurns++
    if (!this.#isWorthIt || this.#emptyTurns === PATIENCE) {
      this.#isWorthIt = false
      this.isDue = false
      this.#untilLook = PAUSE
    }
    this.#ended()
  }
}

/**
 * Decides whether a connection collects its output until the end of the turn. Answers of handlers that wait for a timer
 * or a database, and values of a stream, become ready at different moments of a turn, and each would be a separate
 * write. The first output is written at once. If more output often follows in the same turn, it is collected until the
 * turn ends and sent in one write. To wait for the end of a turn costs a pass of the event loop. So connections that
 * write only once after each read never wait, and others wait now and then to find out whether more output follows.
 */
import type { Flushable } from './flush-queue.ts'

/** Number of writes between two attempts to wait. */
const PAUSE = 16
/** The connection stops waiting after this many turns in a row without further output. */
const PATIENCE = 4

/** Decides for one connection whether it waits for the end of the turn. */
export class TurnWrites implements Flushable {
  readonly #ended: () => void
  /**
   * Whether `written` must also be called for a write that answers a chunk just read, because that write may have to
   * wait.
   */
  isDue = false
  /** More output followed in the last turns, so waiting pays off. */
  #isWorthIt = false
  #emptyTurns = 0
  #untilLook = PAUSE

  /** @param ended is called at the end of a turn for which the connection has waited */
  constructor(ended: () => void) {
    this.#ended = ended
  }

  /**
   * Output was written. Returns true if further output must be collected until the turn ends.
   * @param hasRead whether a chunk was read since the last write
   */
  written(hasRead: boolean): boolean {
    if (this.#isWorthIt) return true
    if (!hasRead) this.#untilLook--
    this.isDue = this.#untilLook <= 0
    return this.isDue
  }

  /** Further output was made and collected. */
  collected(): void {
    this.#isWorthIt = true
    this.isDue = true
    this.#emptyTurns = -1
  }

  /** The turn of the event loop has ended. */
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

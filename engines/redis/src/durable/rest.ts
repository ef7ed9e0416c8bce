/** Decides when a stream without events is asked for events again: when a message tells of one, or at a certain time. */

/** Milliseconds of the longest pause. */
const LONGEST = 60 * 60 * 1_000

/** The rest of one stream between two requests. */
export class Rest {
  readonly #over: () => void
  #isResting = false
  /** A message has come since the last request was sent, so its answer may be out of date. */
  #isWoken = false
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @param over is called when the time of a rest is over */
  constructor(over: () => void) {
    this.#over = over
  }

  get isResting(): boolean {
    return this.#isResting
  }

  /** A request is sent. */
  requested(): void {
    this.#isWoken = false
  }

  /** A request is to be sent, although no message tells of an event. */
  interrupt(): void {
    this.#isResting = false
  }

  /** A message tells of an event. */
  wake(): void {
    clearTimeout(this.#timer)
    this.#isResting = false
    this.#isWoken = true
  }

  /**
   * Begins a rest, unless a message has come.
   * @param pause milliseconds after which the rest is over in any case, for example because an event is due then; below
   * 0: it only ends by a message
   */
  begin(pause: number): void {
    if (this.#isWoken) return
    this.#isResting = true
    clearTimeout(this.#timer)
    if (pause < 0) return
    this.#timer = setTimeout(this.#over, Math.min(pause + 1, LONGEST))
    this.#timer.unref?.()
  }

  /** Ends the rest. None begins until a further request is sent, also if the last one is answered now. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#isWoken = true
  }
}

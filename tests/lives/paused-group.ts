/** Which events may begin while their group is paused: those that a process had before the pause came to it. */

/** Milliseconds after which a pause has come to all processes, and the events that they had received have begun. */
const PAUSED = 15_000

/** The group that is paused at times. */
export class PausedGroup {
  readonly #isHeldBack: boolean
  /** When the pause began; `undefined`: the group is not paused. */
  since: number | undefined
  /** When each event began first. */
  readonly #begun = new Map<string, number>()
  /** When the last handler ended that the pause had found running: events that its process had wait no longer. */
  #freedAt = Number.NEGATIVE_INFINITY

  /** @param isHeldBack whether events wait that a process has, too */
  constructor(isHeldBack: boolean) {
    this.#isHeldBack = isHeldBack
  }

  /** When the pause had come to all processes; `Infinity`: the group is not paused. */
  get #cameAt(): number {
    return this.since === undefined ? Number.POSITIVE_INFINITY : this.since + PAUSED
  }

  /**
   * A handler begins.
   * @param stored when its event was stored, or earlier, in milliseconds of the world's time, as `now`
   * @returns milliseconds since the beginning of the pause, if the event may not begin any more; otherwise 0
   */
  begins(id: string, stored: number, now: number): number {
    if (!this.#begun.has(id)) this.#begun.set(id, now)
    if (now <= this.#cameAt) return 0
    const mayBeHere = !this.#isHeldBack && stored <= this.#cameAt && now - this.#freedAt <= PAUSED
    return mayBeHere ? 0 : Math.round(now - (this.since as number))
  }

  /** A handler ends. */
  ends(id: string, now: number): void {
    const begun = this.#begun.get(id) ?? Number.POSITIVE_INFINITY
    if (now > this.#cameAt && begun <= this.#cameAt) this.#freedAt = now
  }
}

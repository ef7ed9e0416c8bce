/** Timeouts that a test shortens or holds, for code whose pauses are by the clock of the system. */

/** Replaces `setTimeout` until it is disposed of: `using timeouts = new Timeouts(…)`. */
export class Timeouts implements Disposable {
  readonly #original = globalThis.setTimeout
  readonly #held: (() => void)[] = []
  /** The milliseconds of all timeouts since the beginning. */
  readonly begun: number[] = []

  /** @param change returns for the milliseconds of a timeout how long it is to last instead; `'held'`: until `pass` */
  constructor(change: (milliseconds: number) => number | 'held') {
    const replaced = (task: (...given: unknown[]) => void, milliseconds = 0, ...given: unknown[]) => {
      this.begun.push(milliseconds)
      const changed = change(milliseconds)
      if (changed !== 'held') return this.#original(task, changed, ...given)
      this.#held.push(() => task(...given))
      return this.#original(() => {}, 0)
    }
    globalThis.setTimeout = replaced as typeof setTimeout
  }

  /** The number of those that are held. */
  get held(): number {
    return this.#held.length
  }

  /** Lets the one pass that is held longest. */
  pass(): void {
    this.#held.shift()?.()
  }

  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#original
  }
}

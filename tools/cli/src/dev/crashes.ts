/** Counts the equal crashes of a program, so that a program that crashes again and again prints a few lines, not one each time. */

/** A crash. */
export interface Crash {
  /** Its reason, which is compared with that of the crash before. */
  readonly what: string
  /** Whether the program was ready when it crashed. */
  readonly wasReady: boolean
  /** Milliseconds for which the program ran after it was ready; 0 if it never was. */
  readonly lived: number
}

/** Milliseconds after it was ready from which on a program counts as running steadily. */
export const STEADY = 10_000

const NONE: Crash = { what: '', wasReady: false, lived: 0 }

/** The equal crashes since something else happened. */
export class Crashes {
  #last = NONE
  #times = 0

  /** Counts a crash. @returns how often this crash has come since something else happened: 1 if it is a new one */
  add(crash: Crash): number {
    const isEqual = crash.what === this.#last.what && crash.wasReady === this.#last.wasReady
    this.#times = isEqual && crash.lived <= STEADY ? this.#times + 1 : 1
    this.#last = crash
    return this.#times
  }

  /** Forgets all crashes, after an edit or when the program runs steadily. */
  forget(): void {
    this.#last = NONE
    this.#times = 0
  }

  /** Whether the program gets ready and crashes then, again and again: that it is ready means little now. */
  get followReady(): boolean {
    return this.#last.wasReady && this.#times > 1
  }
}

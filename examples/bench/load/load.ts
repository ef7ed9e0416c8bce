/** The shape of a load: something that keeps requests outstanding and tells a meter. */

import { deferred } from '../process/deferred.ts'

export interface Load {
  /** Begins sending. Every connection is up already. */
  start(): void
  /** Sends nothing more and waits up to `patience` milliseconds; what is unanswered then counts as errors. */
  finish(patience: number): Promise<void>
  close(): Promise<void>
}

/** How long, in milliseconds, a caller waits after an error: a dead server must not make the bench spin. */
export const ERROR_PAUSE = 100

/** Counts what is outstanding and tells when the last answer is in. */
export class Outstanding {
  #count = 0
  #whenNone: (() => void) | undefined

  get count(): number {
    return this.#count
  }

  add(count: number): void {
    this.#count += count
  }

  remove(count: number): void {
    this.#count -= count
    if (this.#count === 0) this.#whenNone?.()
  }

  /** Resolves to how many are left when none is, or after `patience` milliseconds. */
  async settle(patience: number): Promise<number> {
    if (this.#count === 0) return 0
    const { promise, resolve } = deferred()
    this.#whenNone = resolve
    const timer = setTimeout(resolve, patience)
    await promise
    clearTimeout(timer)
    return this.#count
  }
}

/** The interface of a load: it keeps requests outstanding, and reports them to a meter. */

import { deferred } from '../process/deferred.ts'

export interface Load {
  /** Begins to send. All connections are established by then. */
  start(): void
  /** Stops sending, and waits for up to `patience` milliseconds; unanswered requests then count as errors. */
  finish(patience: number): Promise<void>
  close(): Promise<void>
}

/**
 * Milliseconds that a caller waits after an error: with a dead server, callers must not send errors in a busy loop.
 */
export const ERROR_PAUSE = 100

/** Counts outstanding requests, and reports when there are none left. */
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

  /** Waits until no request is outstanding, for up to `patience` milliseconds. Resolves to the number that is left. */
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

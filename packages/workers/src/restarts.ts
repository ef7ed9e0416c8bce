/**
 * Decides when a worker that has ended is started again. The random number is a parameter, so that tests know the
 * result.
 */
import { backoffDelay } from '@elysia-microservices/transport/kit'

/**
 * Milliseconds before a worker is started again: at random up to 100, and up to twice as many after each quick end,
 * at most 30 s.
 */
const BACKOFF = { minDelay: 100, maxDelay: 30_000 }
/** Milliseconds that a worker must live after it was ready for its start to count as successful. */
const STABLE_AFTER = 10_000
/** The number of quick ends in a row after which the service is given up, if no other worker is left. */
const MAX_QUICK_ENDS = 5

/** Counts how often the processes of one worker number have ended before they were ready, or soon after. */
export class Restarts {
  #quickEnds = 0
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  /**
   * True if so many processes in a row have ended before they were ready, or soon after, that starting another is
   * pointless.
   */
  get isHopeless(): boolean {
    return this.#quickEnds >= MAX_QUICK_ENDS
  }

  /**
   * Counts the end of a process.
   * @param lifetime milliseconds since the process was ready; 0 if it never was
   * @returns milliseconds until the next process is to be started
   */
  delayAfter(lifetime: number): number {
    const delay = backoffDelay(BACKOFF, lifetime < STABLE_AFTER ? this.#quickEnds : 0, this.#random())
    this.#quickEnds = lifetime < STABLE_AFTER ? this.#quickEnds + 1 : 0
    return delay
  }
}

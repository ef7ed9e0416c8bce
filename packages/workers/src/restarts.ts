/** When a worker that has ended is started again. Pure: randomness is given. */
import { backoffDelay } from '@elysia-microservices/transport/kit'

/** Milliseconds before a worker is started again: anything up to 100, doubled with each quick end, up to 30 s. */
const BACKOFF = { minDelay: 100, maxDelay: 30_000 }
/** Milliseconds that a worker must live for its start to count as successful. */
const STABLE_AFTER = 10_000
/** Quick ends in a row after which a service without any other worker is given up. */
const MAX_QUICK_ENDS = 5

/** How often the processes in one worker's place have ended soon after their start. */
export class Restarts {
  #quickEnds = 0
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  /** So many processes in a row have ended soon after their start that starting another is pointless. */
  get isHopeless(): boolean {
    return this.#quickEnds >= MAX_QUICK_ENDS
  }

  /**
   * A worker has ended.
   * @param lifetime milliseconds since it was started
   * @returns milliseconds until another is to be started
   */
  delayAfter(lifetime: number): number {
    const delay = backoffDelay(BACKOFF, lifetime < STABLE_AFTER ? this.#quickEnds : 0, this.#random())
    this.#quickEnds = lifetime < STABLE_AFTER ? this.#quickEnds + 1 : 0
    return delay
  }
}

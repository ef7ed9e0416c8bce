/** Calculates the pauses between attempts. Pure: the caller passes the random number. */

/** Bounds of the growing pauses. */
export interface BackoffOptions {
  /** Longest first pause, in milliseconds. */
  readonly minDelay: number
  /** Longest pause of all, in milliseconds. */
  readonly maxDelay: number
}

/** After 30 doublings a pause has reached every sensible `maxDelay`. The limit keeps 2 ** 1024 from becoming Infinity. */
const MAX_DOUBLINGS = 30

/** Longest pause after `attempt` failures in a row (from 0); doubles with each failure. */
export function backoffCeiling({ minDelay, maxDelay }: BackoffOptions, attempt: number): number {
  return Math.min(maxDelay, minDelay * 2 ** Math.min(attempt, MAX_DOUBLINGS))
}

/**
 * A pause with full jitter: a random time from 0 to the ceiling, so that clients which lost the same server do not all
 * reconnect at the same moment.
 * @param random from 0 (inclusive) to 1 (exclusive)
 */
export function backoffDelay(options: BackoffOptions, attempt: number, random: number): number {
  return backoffCeiling(options, attempt) * random
}

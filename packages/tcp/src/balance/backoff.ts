/** Pauses between attempts. Pure: randomness is given. */

/** Bounds of a pause that grows. */
export interface BackoffOptions {
  /** Milliseconds that the first pause may last at most. */
  readonly minDelay: number
  /** Milliseconds that no pause exceeds. */
  readonly maxDelay: number
}

/** Beyond it a pause has reached every sensible `maxDelay`; 2 ** 1024 would be no number any more. */
const MAX_DOUBLINGS = 30

/** The longest pause before the attempt that follows `attempt` (from 0) failed ones: doubled with each. */
export function backoffCeiling({ minDelay, maxDelay }: BackoffOptions, attempt: number): number {
  return Math.min(maxDelay, minDelay * 2 ** Math.min(attempt, MAX_DOUBLINGS))
}

/**
 * A pause with full jitter, anything from 0 to the ceiling: clients that lost the same server do not come back
 * at the same moment.
 * @param random from 0 (inclusive) to 1 (exclusive)
 */
export function backoffDelay(options: BackoffOptions, attempt: number, random: number): number {
  return backoffCeiling(options, attempt) * random
}

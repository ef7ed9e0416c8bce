/** Decides which failed calls are retried, and when. Pure: the caller passes the time and the random numbers. */
import { type BackoffOptions, backoffDelay } from '../backoff.ts'
import { ConnectionError, OverloadedError, RejectedError } from '../errors/index.ts'
import type { PendingCall } from './pending-call.ts'
import { RetryBudget, type RetryBudgetOptions } from './retry-budget.ts'

/** Checked options of retries. */
export interface CheckedRetry extends BackoffOptions {
  /** Most attempts of a call, the first included. */
  readonly attempts: number
  readonly budget: RetryBudgetOptions
}

/** The retry options of a client if the user sets none. */
export const DEFAULT_RETRY: CheckedRetry = {
  attempts: 3,
  minDelay: 50,
  maxDelay: 1_000,
  budget: { ratio: 0.2, perSecond: 10 }
}

/** The fields of a failed call that decide whether it is retried. */
export type FailedCall = Pick<PendingCall, 'retries' | 'deadline' | 'isAnswered' | 'input' | 'options'>

/** Decides whether a failed call is retried. */
export class RetryPolicy {
  readonly #options: CheckedRetry
  readonly #budget: RetryBudget
  readonly #random: () => number
  readonly #exhausted: () => void

  /**
   * @param random gives numbers from 0 (inclusive) to 1 (exclusive)
   * @param exhausted is called when a call fails only because the retry budget is used up
   */
  constructor(
    options: CheckedRetry,
    now: number,
    random: () => number = Math.random,
    exhausted: () => void = () => {}
  ) {
    this.#options = options
    this.#random = random
    this.#exhausted = exhausted
    this.#budget = new RetryBudget(options.budget, now)
  }

  /**
   * Milliseconds until the call is retried; `undefined` if the call must fail.
   * @param elsewhere another endpoint can take the call
   * @param calls number of calls that the whole client has made so far
   */
  pause(call: FailedCall, error: Error, elsewhere: boolean, now: number, calls: number): number | undefined {
    const options = this.#options
    if (call.retries + 1 >= options.attempts || !isSafe(call, error)) return undefined
    const delay = elsewhere && call.retries === 0 ? 0 : backoffDelay(options, call.retries, this.#random())
    if (now + delay >= call.deadline) return undefined
    if (this.#budget.take(now, calls)) return delay
    this.#exhausted()
    return undefined
  }
}

/** Returns whether a retry does no harm: the call has certainly not run, or its user has marked it `idempotent`. */
function isSafe(call: FailedCall, error: Error): boolean {
  // The input of a channel cannot be read again, and values given to the receiver cannot be taken back.
  if (call.isAnswered || call.input !== undefined) return false
  if (error instanceof RejectedError || error instanceof OverloadedError) return true
  if (!(error instanceof ConnectionError) || !error.retryable) return false
  return !error.mayHaveRun || call.options?.idempotent === true
}

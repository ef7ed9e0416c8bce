/** Decides which failed calls are made again, and when. Pure: clock and randomness come from outside. */

import {
  backoffDelay,
  ConnectionError,
  OverloadedError,
  type PendingCall,
  RejectedError,
  TimeoutError
} from '@elysia-microservices/transport/kit'
import { RetryBudget } from '../balance/retry-budget.ts'
import type { CheckedRetry } from '../options/resilience-options.ts'

/** Whether an error says something about the endpoint, not about the call. */
export function isEndpointFailure(error: Error): boolean {
  return error instanceof ConnectionError || error instanceof TimeoutError || error instanceof RejectedError
}

/** What counts of a failed call. */
export type FailedCall = Pick<PendingCall, 'retries' | 'deadline' | 'isAnswered' | 'input' | 'options'>

/** Decides about failed calls. */
export class RetryPolicy {
  readonly #options: CheckedRetry | undefined
  readonly #budget: RetryBudget | undefined
  readonly #random: () => number
  readonly #exhausted: () => void

  /**
   * @param options `undefined`: no call is made again
   * @param random gives numbers from 0 (inclusive) to 1 (exclusive)
   * @param exhausted a call fails that would have been made again, if not too many had been
   */
  constructor(
    options: CheckedRetry | undefined,
    now: number,
    random: () => number,
    exhausted: () => void = () => {}
  ) {
    this.#options = options
    this.#random = random
    this.#exhausted = exhausted
    if (options !== undefined) this.#budget = new RetryBudget(options.budget, now)
  }

  /**
   * Milliseconds until the call is made again; `undefined` if it fails.
   * @param elsewhere another endpoint can take the call
   * @param calls number of calls that the whole client has made so far
   */
  pause(call: FailedCall, error: Error, elsewhere: boolean, now: number, calls: number): number | undefined {
    const options = this.#options
    if (options === undefined || call.retries + 1 >= options.attempts || !isSafe(call, error))
      return undefined
    const delay = elsewhere && call.retries === 0 ? 0 : backoffDelay(options, call.retries, this.#random())
    if (now + delay >= call.deadline) return undefined
    if (this.#budget?.take(now, calls) === true) return delay
    this.#exhausted()
    return undefined
  }
}

/** Whether the call has certainly not run, or may run twice because it is marked `idempotent`. */
function isSafe(call: FailedCall, error: Error): boolean {
  // The input of a channel cannot be read again, and values given to the receiver cannot be taken back.
  if (call.isAnswered || call.input !== undefined) return false
  if (error instanceof RejectedError || error instanceof OverloadedError) return true
  return error instanceof ConnectionError && (!error.mayHaveRun || call.options?.idempotent === true)
}

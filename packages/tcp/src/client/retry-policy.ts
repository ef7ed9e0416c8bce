/** Which calls are made again, and when. */

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

/** An error that says something about the endpoint, not about the call. */
export function isEndpointFailure(error: Error): boolean {
  return error instanceof ConnectionError || error instanceof TimeoutError || error instanceof RejectedError
}

/** Decides about failed calls. */
export class RetryPolicy {
  readonly #options: CheckedRetry | undefined
  readonly #budget: RetryBudget | undefined

  /** @param options `undefined`: nothing is made again */
  constructor(options: CheckedRetry | undefined) {
    this.#options = options
    if (options !== undefined) this.#budget = new RetryBudget(options.budget, performance.now())
  }

  /**
   * Milliseconds until the call is to be made again; `undefined` if it is to fail.
   * @param elsewhere another endpoint can take it
   * @param calls calls made so far, by the whole client
   */
  pause(call: PendingCall, error: Error, elsewhere: boolean, now: number, calls: number): number | undefined {
    const options = this.#options
    if (options === undefined || call.retries + 1 >= options.attempts || !isSafe(call, error))
      return undefined
    const delay = elsewhere && call.retries === 0 ? 0 : backoffDelay(options, call.retries, Math.random())
    if (now + delay >= call.deadline) return undefined
    return this.#budget?.take(now, calls) === true ? delay : undefined
  }
}

/** Whether making the call again runs nothing twice, or its owner does not mind if it does. */
function isSafe(call: PendingCall, error: Error): boolean {
  // The input of a channel has been read, and cannot be read again; values cannot be taken back.
  if (call.isAnswered || call.input !== undefined) return false
  if (error instanceof RejectedError || error instanceof OverloadedError) return true
  return error instanceof ConnectionError && (!error.mayHaveRun || call.options?.idempotent === true)
}

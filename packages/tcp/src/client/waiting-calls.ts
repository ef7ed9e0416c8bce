/** Calls without a connection: they wait for one, or for the end of the pause before a retry. */
import {
  type CallHolder,
  ConnectionError,
  noteCall,
  OverloadedError,
  type PendingCall,
  type Timer
} from '@elysia-microservices/transport/kit'
import { newTimer } from '../connection/timer.ts'

/** Most calls that may wait. */
const MAX_WAITING = 65_536

/** The time of calls that wait for a connection. */
export const UNTIL_CONNECTED = Number.POSITIVE_INFINITY

/** Keeps calls and watches their deadlines and signals. */
export class WaitingCalls implements CallHolder {
  /** The calls in order, each with the time at which it is made. */
  readonly #calls = new Map<PendingCall, number>()
  readonly #timer: Timer
  readonly #timeout: number
  readonly #due: (call: PendingCall) => void
  /** Why there is no connection. */
  reason: Error | undefined
  /** The endpoint that could not be reached. */
  endpoint: string | undefined

  /**
   * @param timeout milliseconds for a call without its own timeout; 0 for no limit
   * @param due makes a call whose pause is over
   */
  constructor(timeout: number, due: (call: PendingCall) => void) {
    this.#timeout = timeout
    this.#due = due
    this.#timer = newTimer(this)
  }

  /** @param due when the call is made, in the clock of the deadlines, or `UNTIL_CONNECTED` */
  add(call: PendingCall, due: number): void {
    try {
      if (this.#calls.size >= MAX_WAITING)
        throw new OverloadedError(
          `${MAX_WAITING} calls already wait for a connection; make fewer calls at the same time`
        )
      call.holder = this
      call.isDelayed = true
      call.prepare(this.#timer, this.#timeout, this.#fail)
    } catch (error) {
      call.release()
      return call.fail(error as Error)
    }
    this.#calls.set(call, due)
    this.#timer.wakeAt(due)
  }

  cancel(call: PendingCall): void {
    if (this.#calls.delete(call)) call.release()
  }

  // Demand granted meanwhile is kept in the call and becomes part of the request.
  demand(): void {}

  /** Removes and returns the calls that wait for a connection, oldest first. */
  takeUnconnected(): PendingCall[] {
    const calls = [...this.#calls].filter(([, due]) => due === UNTIL_CONNECTED).map(([call]) => call)
    for (const call of calls) this.cancel(call)
    return calls
  }

  /** Fails all calls and stops the timer. */
  close(error: () => Error): void {
    for (const call of [...this.#calls.keys()]) this.#fail(call, error())
    this.#timer.stop()
  }

  /** Called by the timer. */
  wake(now: number): void {
    for (const [call, due] of [...this.#calls]) {
      if (due <= now) {
        this.cancel(call)
        this.#due(call)
      } else if (call.deadline <= now) this.#fail(call, this.#tooLate(call))
      else this.#timer.wakeAt(Math.min(due, call.deadline))
    }
  }

  #tooLate({ timeout, mayHaveRun }: PendingCall): Error {
    const { reason } = this
    const why = reason === undefined ? '' : `: ${reason.message}`
    const error = new ConnectionError(`No connection within ${timeout} ms${why}`, mayHaveRun, reason)
    return noteCall(error, () => ({ endpoint: this.endpoint }))
  }

  readonly #fail = (call: PendingCall, error: Error): void => {
    if (!this.#calls.delete(call)) return
    call.release()
    call.fail(error)
  }
}

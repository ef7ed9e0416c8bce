/** Calls that are with no connection: they wait for one, or until they are made again. */
import {
  type CallHolder,
  ConnectionError,
  OverloadedError,
  type PendingCall,
  type Timer
} from '@elysia-microservices/transport/kit'
import { newTimer } from '../connection/timer.ts'

/** Calls that may wait. */
const MAX_WAITING = 65_536

/** Until a connection is there. */
export const UNTIL_CONNECTED = Number.POSITIVE_INFINITY

/** Keeps calls, with their deadlines and signals. */
export class WaitingCalls implements CallHolder {
  /** In order of coming, with the time when they are to be made. */
  readonly #calls = new Map<PendingCall, number>()
  readonly #timer: Timer
  readonly #timeout: number
  readonly #due: (call: PendingCall) => void
  /** Why there is no connection. */
  reason: Error | undefined

  /**
   * @param timeout milliseconds for a call that says nothing else; 0 for no limit
   * @param due takes the calls whose pause is over
   */
  constructor(timeout: number, due: (call: PendingCall) => void) {
    this.#timeout = timeout
    this.#due = due
    this.#timer = newTimer((now) => this.#wake(now))
  }

  /** @param due when the call is to be made, in the clock of the deadlines, or `UNTIL_CONNECTED` */
  add(call: PendingCall, due: number): void {
    try {
      if (this.#calls.size >= MAX_WAITING)
        throw new OverloadedError(`${MAX_WAITING} calls wait for a connection already`)
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

  // What is asked for meanwhile becomes part of the request.
  demand(): void {}

  /** Takes out the calls that wait for a connection, oldest first. */
  takeUnconnected(): PendingCall[] {
    const calls = [...this.#calls].filter(([, due]) => due === UNTIL_CONNECTED).map(([call]) => call)
    for (const call of calls) this.cancel(call)
    return calls
  }

  /** Fails all calls, and is of no use any more. */
  close(error: () => Error): void {
    for (const call of [...this.#calls.keys()]) this.#fail(call, error())
    this.#timer.stop()
  }

  #wake(now: number): void {
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
    return new ConnectionError(`No connection within ${timeout} ms${why}`, mayHaveRun, reason)
  }

  readonly #fail = (call: PendingCall, error: Error): void => {
    if (!this.#calls.delete(call)) return
    call.release()
    call.fail(error)
  }
}

/** Calls that are with no connection: they wait for one, or until they are made again. */
import { CanceledError, ConnectionError, RejectedError, ValidationError } from '../errors.ts'
import type { CallHome, PendingCall } from '../protocol/pending-call.ts'
import { DeadlineTimer } from './deadline-timer.ts'

/** Calls that may wait. */
const MAX_WAITING = 65_536

/** Until a connection is there. */
export const UNTIL_CONNECTED = Number.POSITIVE_INFINITY

/** Keeps calls, with their deadlines and signals. */
export class WaitingCalls implements CallHome {
  /** In order of coming, with the time when they are to be made. */
  readonly #calls = new Map<PendingCall, number>()
  readonly #timer: DeadlineTimer
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
    this.#timer = new DeadlineTimer((now) => this.#wake(now))
  }

  /** @param due when the call is to be made, in the clock of the deadlines, or `UNTIL_CONNECTED` */
  add(call: PendingCall, due: number): void {
    const { options } = call
    const timeout = options?.timeout ?? this.#timeout
    const signal = options?.signal
    if (!(timeout >= 0)) {
      return call.fail(new ValidationError('options.timeout', 'milliseconds, 0 for no limit', timeout))
    }
    if (signal?.aborted) return call.fail(new CanceledError(call.name, signal.reason))
    if (this.#calls.size >= MAX_WAITING) {
      return call.fail(new RejectedError(`${MAX_WAITING} calls wait for a connection already`))
    }
    call.home = this
    call.delayed = true
    this.#calls.set(call, due)
    call.limit(this.#timer, timeout)
    this.#timer.wakeAt(due)
    if (signal === undefined) return
    const abort = () => this.#fail(call, new CanceledError(call.name, signal.reason))
    signal.addEventListener('abort', abort, { once: true })
    call.cleanUp = () => signal.removeEventListener('abort', abort)
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

  #tooLate({ timeout, sent }: PendingCall): Error {
    const { reason } = this
    const why = reason === undefined ? '' : `: ${reason.message}`
    return new ConnectionError(`No connection within ${timeout} ms${why}`, sent, reason)
  }

  #fail(call: PendingCall, error: Error): void {
    if (!this.#calls.delete(call)) return
    call.release()
    call.fail(error)
  }
}

/** The error of calls after `close()`. */
export function closedError(): ConnectionError {
  return new ConnectionError('The client is closed; make a new one with connect()', false)
}

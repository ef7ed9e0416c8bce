/**
 * The life of calls on the side that makes them: a call starts, waits for a connection, is sent, and ends exactly once:
 * by its answer, its deadline, its signal, its reader, a lost connection or `close()`. A transport sends and reads.
 * Only this file decides when and how a call ends.
 */
import { noteCall, OverloadedError, unsendable } from '../errors/index.ts'
import { DeadlineTimer } from './deadline-timer.ts'
import type { CallSender, FailedAttempt, OpenCallsInit } from './open-calls-init.ts'
import type { CallHolder, PendingCall } from './pending-call.ts'
import { StreamTable } from './stream-table.ts'
import type { Timer, TimerOwner } from './timer.ts'

/** This error is thrown to leave `send` when the call has already ended. No user sees this error. */
const ENDED = new Error('The call has ended')

/**
 * Milliseconds after which our own timer checks whether calls are open. Without this check, a client that is never
 * closed would keep its process alive until the deadline of a call that was answered long ago.
 */
const LOOK = 1_000

/** Most calls that may wait. */
export const MAX_WAITING = 65_536

/** Keeps the calls of a client, or of one connection, until they end. */
export class OpenCalls implements CallHolder, TimerOwner {
  readonly #init: OpenCallsInit
  readonly #sender: CallSender
  readonly #timer: Timer
  /** The calls that have a number. Most of them were sent. */
  readonly #table: StreamTable<PendingCall>
  /**
   * The calls that wait to be sent, in order, each with the time to send it; `Infinity`: at `release`. `undefined`
   * until a call waits.
   */
  #waiting: Map<PendingCall, number> | undefined
  /** The calls that have no number and do not wait to be sent. `undefined` until there is such a call. */
  #kept: Set<PendingCall> | undefined
  /** Makes the error for calls that start after `close`. */
  #closed: ((mayHaveRun: boolean) => Error) | undefined
  #endedWaiting = 0

  constructor(init: OpenCallsInit) {
    this.#init = init
    this.#sender = init.sender
    const { timer = new DeadlineTimer(this, undefined, LOOK) } = init
    this.#timer = typeof timer === 'function' ? timer(this) : timer
    this.#table = init.table ?? new StreamTable()
  }

  /** Number of calls that have not ended. */
  get inFlight(): number {
    return this.#table.size + (this.#waiting?.size ?? 0) + (this.#kept?.size ?? 0)
  }

  /** Number of calls that wait to be sent. */
  get waiting(): number {
    return this.#waiting?.size ?? 0
  }

  /** Number of calls that were sent, wait, or ended while they waited. */
  get started(): number {
    return this.#table.last + this.waiting + this.#endedWaiting
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  // ── start of a call ──────────────────────────────────────────────────────────────────────────────────

  /**
   * Starts a call, or a further attempt of a call. Never throws: it fails the call instead.
   * @param until the time, in the clock of the deadlines, at which the call is sent. Default: at once
   */
  start(call: PendingCall, until?: number): void {
    call.holder = this
    call.isSettled = false
    call.sequence = 0
    try {
      if (this.#closed !== undefined) throw this.#closed(call.mayHaveRun)
      call.prepare(this.#timer, this.#init.timeout)
      if (until === undefined) this.#sender.send(call)
      else this.wait(call, until)
    } catch (error) {
      this.fail(call, unsendable(error))
    }
  }

  /**
   * Gives a call a new number, by which `get` finds the call until it ends. The call's old number becomes free, and the
   * call is no longer kept or waiting.
   */
  add(call: PendingCall): void {
    this.#check(call)
    if (call.sequence !== 0) this.#table.delete(call)
    this.#waiting?.delete(call)
    this.#kept?.delete(call)
    this.#table.add(call)
  }

  /** Takes back the number that was given last, because its call was not sent; the next call gets that number. */
  takeBack(call: PendingCall): void {
    this.#table.takeBack(call)
    call.sequence = 0
  }

  /** The call with this number, if it has not ended. */
  get(sequence: number): PendingCall | undefined {
    return this.#table.get(sequence)
  }

  /**
   * Keeps a call without a number: an event until it has left (`taken`), a channel until its first value. If the call
   * has a number, that number becomes free.
   */
  keep(call: PendingCall): void {
    this.#check(call)
    if (call.sequence !== 0) this.#table.delete(call)
    this.#kept ??= new Set()
    this.#kept.add(call)
  }

  /** Completes the kept events, because they have left the process. */
  taken(): void {
    if (this.#kept === undefined || this.#kept.size === 0) return
    for (const call of [...this.#kept]) if (call.kind === 'event') this.complete(call)
  }

  /**
   * Lets a call wait; later the call is passed to `send` again.
   * @param until a time in the clock of the deadlines. Default: the call waits for `release`
   * @param isFirst the client's first connection is being made, which succeeds or fails by itself: `waitForConnection`
   * does not limit the wait
   * @throws {OverloadedError} too many calls already wait
   */
  wait(call: PendingCall, until = Number.POSITIVE_INFINITY, isFirst = false): void {
    this.#check(call)
    this.#waiting ??= new Map()
    if (this.#isFull) throw new OverloadedError(`${MAX_WAITING} calls already wait; make fewer at a time`)
    call.isDelayed = true
    this.#kept?.delete(call)
    this.#waiting.set(call, until)
    if (until < Number.POSITIVE_INFINITY) this.#timer.wakeAt(until)
    else if (isFirst || this.#init.isConnected === true) call.waitsUntil = Number.POSITIVE_INFINITY
    else call.waitForConnection(this.#timer, this.#init.waitForConnection)
  }

  /**
   * @throws {Error} while the call's data was encoded, a getter of the data has ended the call or closed the connection
   */
  #check(call: PendingCall): void {
    if (this.#closed !== undefined) throw this.#closed(call.mayHaveRun)
    if (call.isSettled) throw ENDED
  }

  get #isFull(): boolean {
    return (this.#waiting?.size ?? 0) >= MAX_WAITING
  }

  /** Whether the call waits to be sent. */
  isWaiting(call: PendingCall): boolean {
    return this.#waiting?.has(call) === true
  }

  /**
   * Sends the calls that wait for `release`, in order.
   * @param may called before each call; if it returns false, the rest keep waiting
   */
  release(may: () => boolean = always): void {
    for (const call of this.#unreleased()) {
      if (!may()) return
      this.#sendWaiting(call)
    }
  }

  /**
   * Gives the calls that wait for `release` to another holder, which starts them. Channels stay, because their first
   * values were taken.
   */
  handOver(to: (call: PendingCall) => void): void {
    for (const call of this.#unreleased())
      if (call.input === undefined && this.#waiting?.delete(call) === true) to(call)
    if (this.inFlight === 0) this.#init.idle?.()
  }

  /** The calls that wait for `release`, oldest first. */
  #unreleased(): PendingCall[] {
    if (this.#waiting === undefined) return []
    return [...this.#waiting].filter(([, until]) => until === Number.POSITIVE_INFINITY).map(([call]) => call)
  }

  #sendWaiting(call: PendingCall): void {
    // Sending an earlier call may have ended this one.
    if (this.#waiting?.delete(call) !== true) return
    try {
      this.#sender.send(call)
    } catch (error) {
      this.fail(call, unsendable(error))
    }
  }

  // ── answer of a call ─────────────────────────────────────────────────────────────────────────────────

  /** Passes a value to the caller. Then it grants more demand, or ends the call if the call needs no more values. */
  value(call: PendingCall, value: unknown, size: number): void {
    if (call.isSettled) return
    try {
      if (call.next(value, size)) return this.cancel(call)
      const more = call.replenish()
      if (more > 0) this.demand(call, more)
    } catch (error) {
      this.giveUp(call, error as Error)
    }
  }

  /** Completes a call whose answer has ended. */
  complete(call: PendingCall): void {
    // The receiver may have given up the call while it took the last value.
    if (this.end(call)) call.complete()
  }

  /** Fails a call: the other side has ended the call with an error, or the call could not be sent. */
  fail(call: PendingCall, error: Error): void {
    if (this.end(call)) this.#failed(call, error)
  }

  /** Cancels a call: fails it with an error, and tells the other side. */
  giveUp(call: PendingCall, error: Error): void {
    if (this.#end(call, true)) this.#failed(call, error)
  }

  /** Cancels a call without settling it, because its reader wants no more values. */
  cancel(call: PendingCall): void {
    this.#end(call, true)
  }

  demand(call: PendingCall, n: number): void {
    // Demand granted before the call is sent becomes part of its request.
    if (!call.isSettled && !this.isWaiting(call)) this.#sender.demand?.(call, n)
  }

  // ── connection and time ──────────────────────────────────────────────────────────────────────────────

  /** The connection is lost, and another connection may follow: fails or retries the calls that do not wait. */
  lost(error: (mayHaveRun: boolean) => Error): void {
    for (const call of this.#all())
      if (!call.isSettled && !this.isWaiting(call)) this.fail(call, error(call.mayHaveRun))
  }

  /** No connection can be made for now: fails the calls that wait for `release`. */
  failWaiting(error: (mayHaveRun: boolean) => Error): void {
    for (const call of this.#unreleased()) this.fail(call, error(call.mayHaveRun))
  }

  /**
   * Fails all open calls, and every call that starts later.
   * @param error makes the error of a call
   * @param isTold tells the other side that its calls are cancelled. Default: false, because the other side cannot be
   * reached
   */
  close(error: (mayHaveRun: boolean) => Error, isTold = false): void {
    this.#closed ??= error
    this.#timer.stop()
    for (const call of this.#all()) if (this.#end(call, isTold)) this.#failed(call, error(call.mayHaveRun))
  }

  /** Cancels the calls whose deadline has passed, and sends the calls whose pause before a retry is over. */
  wake(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const call of this.#all()) {
      if (call.isSettled) continue
      const until = this.#waiting?.get(call)
      // A call that waits for a connection may stop waiting before its deadline.
      const patience = until === Number.POSITIVE_INFINITY ? call.waitsUntil : until
      if (call.deadline <= now) this.giveUp(call, this.#lateError(call, until !== undefined))
      else if (patience !== until && call.waitsUntil <= now) this.#endWait(call)
      else if (until !== undefined && until > now) next = Math.min(next, call.deadline, patience ?? until)
      else {
        next = Math.min(next, call.deadline)
        if (until !== undefined) this.#sendWaiting(call)
      }
    }
    if (next < Number.POSITIVE_INFINITY) this.#timer.wakeAt(next)
  }

  /**
   * Fails a call that has waited long enough for a connection. The call is not retried, because `waitForConnection`
   * asks for an early failure.
   */
  #endWait(call: PendingCall): void {
    const { unreached, waitForConnection, endpoint } = this.#init
    const error = unreached?.(call) ?? call.unconnected(waitForConnection)
    if (this.end(call)) call.fail(noteCall(error, () => ({ endpoint: endpoint?.() })))
  }

  #lateError(call: PendingCall, isWaiting: boolean): Error {
    return (isWaiting ? this.#init.unreached?.(call) : undefined) ?? call.timedOut(this.#init.halted?.())
  }

  /**
   * All calls that have not ended: first those with a number, in order of their numbers, then those that wait, in
   * order.
   */
  #all(): Set<PendingCall> {
    return new Set([...this.#table.all(), ...(this.#kept ?? []), ...(this.#waiting?.keys() ?? [])])
  }

  // ── end of a call ────────────────────────────────────────────────────────────────────────────────────

  /**
   * Retries a failed call if a retry does no harm and the budget allows it. This is the default of `recover`.
   * @returns false if the call must fail
   */
  retry(
    call: PendingCall,
    error: Error,
    { endpoint, isElsewhere = false, started }: FailedAttempt = {}
  ): boolean {
    const { retries, notices } = this.#init
    if (retries === undefined || this.#closed !== undefined || this.#isFull) return false
    const now = this.#timer.now()
    const delay = retries.pause(call, error, isElsewhere, now, started ?? this.started)
    if (delay === undefined) return false
    if ((error as { readonly mayHaveRun?: boolean }).mayHaveRun === true) call.mayHaveRunBefore = true
    call.mayHaveRun = call.mayHaveRunBefore
    call.retries++
    call.isDelayed = true
    call.failedAt = endpoint
    const { name: pattern, retries: attempt, headers } = call
    notices?.tell({
      type: 'retry',
      pattern,
      endpoint: endpoint?.name ?? this.#init.endpoint?.(),
      attempt,
      delay,
      error,
      headers
    })
    // The listener that got the event may have closed the client, or started many calls.
    this.start(call, delay === 0 ? undefined : now + delay)
    return true
  }

  #failed(call: PendingCall, error: Error): void {
    const recover = this.#init.recover
    if (recover === undefined ? this.retry(call, error) : recover(call, error)) return
    call.fail(noteCall(error, () => ({ endpoint: this.#init.endpoint?.() })))
  }

  /**
   * Ends a call that has succeeded and whose caller has the result.
   * @returns false if the call had already ended
   */
  end(call: PendingCall): boolean {
    return this.#end(call, false)
  }

  /**
   * The one place where a call ends.
   * @returns false if the call had already ended
   */
  #end(call: PendingCall, isTold: boolean): boolean {
    if (call.isSettled) return false
    call.isSettled = true
    const isWaiting = this.#waiting?.delete(call) === true
    if (isWaiting) this.#endedWaiting++
    if (isTold && !isWaiting && !call.isOver) this.#sender.cancel(call)
    if (call.sequence !== 0) this.#table.delete(call)
    this.#kept?.delete(call)
    this.#sender.over?.(call)
    call.release()
    if (this.#init.idle !== undefined && this.inFlight === 0) this.#init.idle()
    return true
  }
}

const always = () => true

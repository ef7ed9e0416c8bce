/**
 * The life of calls on the side that makes them: a call starts, waits for a connection, is sent, and ends exactly once,
 * whatever ends it: its answer, its deadline, its signal, its reader, a lost connection, `close()`. A transport sends
 * and reads; when and how a call ends is decided here, and nowhere else.
 */
import { noteCall, OverloadedError, unsendable } from '../errors/index.ts'
import type { Notices } from '../notices.ts'
import { DeadlineTimer } from './deadline-timer.ts'
import type { CallHolder, PendingCall, Recover } from './pending-call.ts'
import type { RetryPolicy } from './retry-policy.ts'
import { StreamTable } from './stream-table.ts'
import type { Timer, TimerOwner } from './timer.ts'

/** Sends and cancels the calls of a transport. Only `send` may throw. */
export interface CallSender {
  /**
   * Sends a call, new or made again, or lets it wait (`OpenCalls.wait`). Numbers it with `OpenCalls.add`, and sets its
   * `mayHaveRun` as soon as it may have left this process. What it throws fails the call.
   */
  send(call: PendingCall): void
  /** Tells the other side that a call is given up. Is asked of each that does not wait, even if it was not sent yet. */
  cancel(call: PendingCall): void
  /** Lets the other side send `n` more values. Default: the protocol has no demand. */
  demand?(call: PendingCall, n: number): void
  /** A call has ended, or this attempt at it: what the sender keeps for it can go. */
  over?(call: PendingCall): void
}

/** The parts from which `OpenCalls` is made. */
export interface OpenCallsInit {
  readonly sender: CallSender
  /** Milliseconds for a call without its own timeout; 0 for no limit. */
  readonly timeout: number
  /** Milliseconds for which a call without its own option may wait for a connection. Default: until its deadline. */
  readonly waitForConnection?: number | undefined
  /**
   * A timer whose owner calls `wake` of these calls, or a function that makes a timer for them. Default: a timer of
   * their own.
   */
  readonly timer?: Timer | ((owner: TimerOwner) => Timer)
  /** Numbers the calls. Default: from 1 on. */
  readonly table?: StreamTable<PendingCall>
  /** The server that calls are sent to at the moment, for errors. Default: not known. */
  endpoint?(): string | undefined
  /** Decides which failed calls are retried. Default: no call is. */
  readonly retries?: RetryPolicy | undefined
  /** Is told about retries. Default: nobody. */
  readonly notices?: Pick<Notices, 'tell'> | undefined
  /** Is asked before a call fails. Default: `retry`. */
  readonly recover?: Recover | undefined
  /**
   * The error of a call whose time ends while it waits. Default: a `TimeoutError`, or a `ConnectionError` at the end of
   * `waitForConnection`.
   */
  unreached?(call: PendingCall): Error
  /** The thing that calls wait for, as the error names it when too many wait. Default: 'a connection'. */
  readonly waitsFor?: string
  /** There is a connection, so that `waitForConnection` of a call does not limit its wait. Default: false. */
  readonly isConnected?: boolean
  /** No call is open any more. */
  idle?(): void
}

/** Where a call failed, for `OpenCalls.retry`. */
export interface FailedAttempt {
  /** Default: not known. */
  readonly endpoint?: { readonly name: string } | undefined
  /** Another endpoint can take the call at once. Default: false. */
  readonly isElsewhere?: boolean
  /** Calls made so far, of which the budget allows a share to be retried. Default: the numbers given by the table. */
  readonly started?: number
}

/** Leaves `send`. Nobody sees it: the call has its end. */
const ENDED = new Error('The call has ended')

/**
 * Milliseconds after which a timer of our own looks whether calls are open at all. A client that nobody closes would
 * otherwise keep its process alive until the deadline of a call that was answered long ago.
 */
const LOOK = 1_000

/** Most calls that may wait. */
export const MAX_WAITING = 65_536

/** Keeps the calls of a client, or of one connection, until they end. */
export class OpenCalls implements CallHolder, TimerOwner {
  readonly #init: OpenCallsInit
  readonly #sender: CallSender
  readonly #timer: Timer
  /** Calls with a number, mostly sent ones. */
  readonly #table: StreamTable<PendingCall>
  /** Calls to be sent later, in order, with the time; `Infinity`: at `release`. `undefined` until there is one. */
  #waiting: Map<PendingCall, number> | undefined
  /** Calls without a number that do not wait to be sent. `undefined` until there is one. */
  #kept: Set<PendingCall> | undefined
  /** Makes the error of a call that is started too late. */
  #closed: ((mayHaveRun: boolean) => Error) | undefined

  constructor(init: OpenCallsInit) {
    this.#init = init
    this.#sender = init.sender
    const { timer = new DeadlineTimer(this, undefined, LOOK) } = init
    this.#timer = typeof timer === 'function' ? timer(this) : timer
    this.#table = init.table ?? new StreamTable()
  }

  /** Calls that have not ended. */
  get inFlight(): number {
    return this.#table.size + (this.#waiting?.size ?? 0) + (this.#kept?.size ?? 0)
  }

  /** The last number given to a call. */
  get started(): number {
    return this.#table.last
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  // ── the beginning of a call ──────────────────────────────────────────────────────────────────────────

  /**
   * Begins a call, or a further attempt at it. Never throws: it fails the call instead.
   * @param until a time in the clock of the deadlines, at which it is sent. Default: at once
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
   * Gives a call a number, by which `get` finds it until it ends. If it had a number, that is free; if it was kept or
   * waited, it is not any more.
   */
  add(call: PendingCall): void {
    this.#check(call)
    if (call.sequence !== 0) this.#table.delete(call)
    this.#waiting?.delete(call)
    this.#kept?.delete(call)
    this.#table.add(call)
  }

  /** Takes back the number that was given last: the call was not sent, and the next one gets its number. */
  takeBack(call: PendingCall): void {
    this.#table.takeBack(call)
    call.sequence = 0
  }

  /** The call with this number, if it has not ended. */
  get(sequence: number): PendingCall | undefined {
    return this.#table.get(sequence)
  }

  /**
   * Keeps a call without a number: an event until it has left (`taken`), a channel until its first value. Its number, if
   * it has one, is free.
   */
  keep(call: PendingCall): void {
    this.#check(call)
    if (call.sequence !== 0) this.#table.delete(call)
    this.#kept ??= new Set()
    this.#kept.add(call)
  }

  /** Completes the events that are kept: they have left. */
  taken(): void {
    if (this.#kept === undefined || this.#kept.size === 0) return
    for (const call of [...this.#kept]) if (call.kind === 'event') this.complete(call)
  }

  /** There is a connection: what was written before that has left. */
  haveLeft(): void {
    for (const call of this.#all()) if (call.sequence !== 0 && !this.isWaiting(call)) call.mayHaveRun = true
  }

  /**
   * Lets a call wait; then it is given to `send` again.
   * @param until a time in the clock of the deadlines. Default: it waits for `release`
   * @param isFirst the first connection is being made, which ends by itself: `waitForConnection` does not count
   * @throws {OverloadedError} too many wait already
   */
  wait(call: PendingCall, until = Number.POSITIVE_INFINITY, isFirst = false): void {
    this.#check(call)
    this.#waiting ??= new Map()
    if (this.#isFull)
      throw new OverloadedError(
        `${MAX_WAITING} calls already wait for ${this.#init.waitsFor ?? 'a connection'}; make fewer calls at the same time`
      )
    call.isDelayed = true
    this.#kept?.delete(call)
    this.#waiting.set(call, until)
    if (until < Number.POSITIVE_INFINITY) this.#timer.wakeAt(until)
    else if (isFirst || this.#init.isConnected === true) call.waitsUntil = Number.POSITIVE_INFINITY
    else call.waitForConnection(this.#timer, this.#init.waitForConnection)
  }

  /** @throws {Error} a getter of its data has ended the call, or closed the connection, while it was encoded */
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

  /** Sends the calls that wait for it, in order. @param may is asked before each; false ends it */
  release(may: () => boolean = always): void {
    for (const call of this.#unreleased()) {
      if (!may()) return
      this.#sendWaiting(call)
    }
  }

  /** The calls that wait for `release`, oldest first. */
  #unreleased(): PendingCall[] {
    if (this.#waiting === undefined) return []
    return [...this.#waiting].filter(([, until]) => until === Number.POSITIVE_INFINITY).map(([call]) => call)
  }

  #sendWaiting(call: PendingCall): void {
    // Sending the call before it may have ended this one.
    if (this.#waiting?.delete(call) !== true) return
    try {
      this.#sender.send(call)
    } catch (error) {
      this.fail(call, unsendable(error))
    }
  }

  // ── its answer ───────────────────────────────────────────────────────────────────────────────────────

  /** Gives a value to the caller; grants demand, or ends the call if it needs no more. */
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

  /** The answer has ended. */
  complete(call: PendingCall): void {
    // The receiver may have given up the call while it took the last value.
    if (this.end(call)) call.complete()
  }

  /** The other side has ended the call with an error, or it could not be sent. */
  fail(call: PendingCall, error: Error): void {
    if (this.end(call)) this.#failed(call, error)
  }

  /** Gives up a call: fails it, and tells the other side. */
  giveUp(call: PendingCall, error: Error): void {
    if (this.#end(call, true)) this.#failed(call, error)
  }

  /** Gives up a call without settling it: its reader wants no more. */
  cancel(call: PendingCall): void {
    this.#end(call, true)
  }

  demand(call: PendingCall, n: number): void {
    // Demand granted before a call is sent becomes part of the request.
    if (!call.isSettled && !this.isWaiting(call)) this.#sender.demand?.(call, n)
  }

  // ── the connection, and the time ─────────────────────────────────────────────────────────────────────

  /** The connection is lost, and there may be another: fails the calls that do not wait, or retries them. */
  lost(error: (mayHaveRun: boolean) => Error): void {
    for (const call of this.#all())
      if (!call.isSettled && !this.isWaiting(call)) this.fail(call, error(call.mayHaveRun))
  }

  /** There will be no connection for now: fails the calls that wait for `release`. */
  failWaiting(error: (mayHaveRun: boolean) => Error): void {
    for (const call of this.#unreleased()) this.fail(call, error(call.mayHaveRun))
  }

  /**
   * Fails all calls, and from now on each one that is started.
   * @param error makes the error of a call
   * @param isTold the other side is told that its calls are given up. Default: false, it cannot be reached
   */
  close(error: (mayHaveRun: boolean) => Error, isTold = false): void {
    this.#closed ??= error
    this.#timer.stop()
    for (const call of this.#all()) if (this.#end(call, isTold)) this.#failed(call, error(call.mayHaveRun))
  }

  /** Gives up the calls whose time has passed, and sends those whose pause is over. */
  wake(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const call of this.#all()) {
      if (call.isSettled) continue
      const until = this.#waiting?.get(call)
      // The time of those that wait for a connection may be shorter.
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

  /** A call has waited long enough for a connection, and is not retried: to fail soon is what it asks for. */
  #endWait(call: PendingCall): void {
    const { unreached, waitForConnection, endpoint } = this.#init
    const error = unreached?.(call) ?? call.unconnected(waitForConnection)
    if (this.end(call)) call.fail(noteCall(error, () => ({ endpoint: endpoint?.() })))
  }

  #lateError(call: PendingCall, isWaiting: boolean): Error {
    return (isWaiting ? this.#init.unreached?.(call) : undefined) ?? call.timedOut()
  }

  /** All calls that have not ended, by number, then those that wait, in order. */
  #all(): Set<PendingCall> {
    return new Set([...this.#table.all(), ...(this.#kept ?? []), ...(this.#waiting?.keys() ?? [])])
  }

  // ── the end of a call ────────────────────────────────────────────────────────────────────────────────

  /**
   * Retries a call that has failed, if that does no harm and the budget allows it. Default of `recover`.
   * @returns false: it fails
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
    const { name: pattern, retries: attempt, options } = call
    notices?.tell({
      type: 'retry',
      pattern,
      endpoint: endpoint?.name ?? this.#init.endpoint?.(),
      attempt,
      delay,
      error,
      headers: options?.headers
    })
    // The listener that was told may have closed the client meanwhile, or filled it with calls.
    this.start(call, delay === 0 ? undefined : now + delay)
    return true
  }

  #failed(call: PendingCall, error: Error): void {
    const recover = this.#init.recover
    if (recover === undefined ? this.retry(call, error) : recover(call, error)) return
    call.fail(noteCall(error, () => ({ endpoint: this.#init.endpoint?.() })))
  }

  /** The call has succeeded, and its caller knows. @returns false: it had already ended */
  end(call: PendingCall): boolean {
    return this.#end(call, false)
  }

  /** The one place where a call ends. @returns false: it had already ended */
  #end(call: PendingCall, isTold: boolean): boolean {
    if (call.isSettled) return false
    call.isSettled = true
    const isWaiting = this.#waiting?.delete(call) === true
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

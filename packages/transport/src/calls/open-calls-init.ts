/** The parameters of OpenCalls: who sends its calls, their limits, and who is told of their ends. */
import type { Notices } from '../notices.ts'
import type { PendingCall, Recover } from './pending-call.ts'
import type { RetryPolicy } from './retry-policy.ts'
import type { StreamTable } from './stream-table.ts'
import type { Timer, TimerOwner } from './timer.ts'

/** Sends and cancels the calls of a transport. Only `send` may throw. */
export interface CallSender {
  /**
   * Sends a new or retried call, or lets the call wait (`OpenCalls.wait`). It gives the call a number with
   * `OpenCalls.add`, and sets `mayHaveRun` as soon as the call may have left this process. If `send` throws, the call
   * fails with that error.
   */
  send(call: PendingCall): void
  /**
   * Tells the other side that a call is cancelled. Called for each call that does not wait, even if the call was not
   * sent yet.
   */
  cancel(call: PendingCall): void
  /** Lets the other side send `n` more values. Default: the protocol has no demand. */
  demand?(call: PendingCall, n: number): void
  /** A call or its current attempt has ended: the sender can drop what it stores for the call. */
  over?(call: PendingCall): void
}

/** The parameters of `OpenCalls`. */
export interface OpenCallsInit {
  readonly sender: CallSender
  /** Milliseconds for a call without its own timeout; 0 for no limit. */
  readonly timeout: number
  /** Milliseconds for which a call without its own option may wait for a connection. Default: until its deadline. */
  readonly waitForConnection?: number | undefined
  /**
   * A timer whose owner calls `wake` of these calls, or a function that makes a timer for them. Default: a new timer.
   */
  readonly timer?: Timer | ((owner: TimerOwner) => Timer)
  /** Gives numbers to the calls. Default: from 1 on. */
  readonly table?: StreamTable<PendingCall>
  /** The server to which calls are sent at the moment, for error messages. Default: not known. */
  endpoint?(): string | undefined
  /** Decides which failed calls are retried. Default: no call is. */
  readonly retries?: RetryPolicy | undefined
  /** Receives the events of retries. Default: nobody does. */
  readonly notices?: Pick<Notices, 'tell'> | undefined
  /** Called before a call fails; returns true if it has taken the call over. Default: `retry`. */
  readonly recover?: Recover | undefined
  /**
   * The error of a call whose time ends while it waits. Default: a `TimeoutError`, or a `ConnectionError` at the end of
   * `waitForConnection`.
   */
  unreached?(call: PendingCall): Error
  /** Why nothing can be sent at the moment, as the end of a sentence, for calls whose time ends. Default: unknown. */
  halted?(): string | undefined
  /** There is a connection, so `waitForConnection` of a call does not limit how long the call waits. Default: false. */
  readonly isConnected?: boolean
  /** Called when no call is open any more. */
  idle?(): void
}

/** Where an attempt of a call failed, for `OpenCalls.retry`. */
export interface FailedAttempt {
  /** The endpoint that failed. Default: not known. */
  readonly endpoint?: { readonly name: string } | undefined
  /** Another endpoint can take the call at once. Default: false. */
  readonly isElsewhere?: boolean
  /**
   * Number of calls made so far: the budget allows a share of them to be retried. Default: the number of calls that the
   * table has numbered.
   */
  readonly started?: number
}

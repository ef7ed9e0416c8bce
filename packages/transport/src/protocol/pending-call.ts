/**
 * Calls between their sending and their end, of whichever protocol: a request settles with the first value, a
 * stream passes all on. Demand and channels are for protocols that have them.
 */
import type { CallOptions, CallReceiver, StreamCall } from '../call.ts'
import type { Pattern } from '../pattern.ts'
import type { Timer } from './connection.ts'
import type { TableEntry } from './stream-table.ts'

/** Values asked for at a time when the receiver takes every value at once. */
export const STREAM_WINDOW = 256

/** How a call is answered: by one value, by many, not at all. */
export type CallKind = 'request' | 'stream' | 'event'

/** Where a call is at the moment: with the requester of a connection, or waiting for one. */
export interface CallHome {
  /** Gives the call up; nothing is said to its owner. */
  cancel(call: PendingCall): void
  /** Lets the other side send `n` more values. */
  demand(call: PendingCall, n: number): void
}

/**
 * Is asked before a call fails. True if the call has been taken over: it goes on elsewhere, with another
 * requester, and is not to be failed.
 */
export type Recover = (call: PendingCall, error: Error) => boolean

/** A call that waits for its answer. */
export abstract class PendingCall implements TableEntry {
  /** Given by the stream table. */
  sequence = 0
  /** Given when the request frame is sent; 0 while it waits for the connection or a lease. */
  streamId = 0
  readonly pattern: Pattern
  readonly kind: CallKind
  /** What is asked: kept until the call ends, because it may have to be sent again. */
  readonly data: unknown
  readonly options: CallOptions | undefined
  /** Values asked for at first; -1 where there is no demand. */
  readonly initialDemand: number
  home: CallHome | undefined
  /** How often the call has been sent again. */
  retries = 0
  /** The endpoint at which the call failed last. */
  failedAt: { readonly name: string } | undefined
  /** The call has waited, for a connection or to be sent again: part of its time is over. */
  delayed = false
  /** An attempt may have reached the other side. */
  sent = false
  /** A value has come: what is sent again now would be answered twice. */
  answered = false
  /** Demand asked for before the request was sent. */
  extraDemand = 0
  /** The call has ended. */
  settled = false
  /** The other side has ended it, and need not be told that it is given up. */
  over = false
  /** When the call is given up; `Infinity` for never. In the clock of the requester. */
  deadline = Number.POSITIVE_INFINITY
  /** Milliseconds the caller allowed. */
  timeout = 0
  /** What feeds a channel; `undefined` for other calls. */
  input: ChannelInput | undefined
  /** Takes back what the call registered elsewhere, such as a listener of an `AbortSignal`. */
  cleanUp: (() => void) | undefined

  constructor(
    pattern: Pattern,
    kind: CallKind,
    data: unknown,
    options: CallOptions | undefined,
    initialDemand: number
  ) {
    this.pattern = pattern
    this.kind = kind
    this.data = data
    this.options = options
    this.initialDemand = initialDemand
  }

  /** The pattern in words, for messages. */
  get name(): string {
    return typeof this.pattern === 'object' ? JSON.stringify(this.pattern) : String(this.pattern)
  }

  /** Sets the deadline, if the call has none yet, and asks to be woken for it. 0: no limit. */
  limit(timer: Timer, timeout: number): void {
    if (this.deadline === Number.POSITIVE_INFINITY) {
      if (timeout === 0) return
      this.timeout = timeout
      this.deadline = timer.now() + timeout
    }
    timer.wakeAt(this.deadline)
  }

  /** What the caller of a stream holds, wherever the call is. */
  handle(): StreamCall {
    return {
      cancel: () => this.home?.cancel(this),
      request: (n) => {
        if (!this.answered) this.extraDemand += n
        this.home?.demand(this, n)
      }
    }
  }

  /** A value has come. True if the call needs no more. */
  abstract next(value: unknown): boolean
  /** The answer has ended. */
  abstract complete(): void
  /** The answer is an error, or will not come. */
  abstract fail(error: Error): void
  /** Demand to grant the other side after a value; 0 for none yet. */
  replenish(): number {
    return 0
  }
  /** The call is over, however it ended. */
  release(): void {
    this.input?.stop()
    if (this.cleanUp === undefined) return
    this.cleanUp()
    this.cleanUp = undefined
  }
}

/** A call that wants one value. */
export class PendingRequest extends PendingCall {
  readonly #resolve: (value: unknown) => void
  readonly #reject: (error: Error) => void

  constructor(
    pattern: Pattern,
    kind: 'request' | 'event',
    data: unknown,
    options: CallOptions | undefined,
    resolve: (value: unknown) => void,
    reject: (error: Error) => void
  ) {
    super(pattern, kind, data, options, -1)
    this.#resolve = resolve
    this.#reject = reject
  }

  next(value: unknown): boolean {
    this.#resolve(value)
    return true
  }

  complete(): void {
    this.#resolve(undefined)
  }

  fail(error: Error): void {
    this.#reject(error)
  }
}

/** A call that wants all values; of a channel, with the values that go the other way. */
export class PendingStream extends PendingCall {
  readonly #receiver: CallReceiver
  readonly #ownDemand: boolean
  #taken = 0

  /** @param demand values asked for at first; `undefined`: the receiver takes all and is never asked */
  constructor(
    pattern: Pattern,
    data: unknown,
    receiver: CallReceiver,
    options: CallOptions | undefined,
    demand: number | undefined
  ) {
    super(pattern, 'stream', data, options, demand ?? STREAM_WINDOW)
    this.#receiver = receiver
    this.#ownDemand = demand !== undefined
  }

  next(value: unknown): boolean {
    // The timeout is for the first answer; a stream may pause between values as long as it likes.
    this.deadline = Number.POSITIVE_INFINITY
    this.answered = true
    this.#receiver.next(value)
    return false
  }

  complete(): void {
    this.#receiver.complete()
  }

  fail(error: Error): void {
    this.#receiver.error(error)
  }

  override replenish(): number {
    if (this.#ownDemand || ++this.#taken < STREAM_WINDOW / 2) return 0
    const taken = this.#taken
    this.#taken = 0
    return taken
  }
}

/** The source of a channel's values, as its call sees it. */
export interface ChannelInput {
  /** Everything is sent, or the other side takes no more. */
  readonly stopped: boolean
  start(source: object): void
  requestN(n: number): void
  stop(): void
}

/**
 * Calls between their sending and their end, of whichever protocol: a request settles with the first value, a
 * stream passes all on. Demand and channels are for protocols that have them.
 */
import type { CallReceiver } from '../call.ts'
import type { Pattern } from '../pattern.ts'
import type { TableEntry } from './stream-table.ts'

/** Values asked for at a time when the receiver takes every value at once. */
export const STREAM_WINDOW = 256

/** A call that waits for its answer. */
export abstract class PendingCall implements TableEntry {
  /** Given by the stream table. */
  sequence = 0
  /** Given when the request frame is sent; 0 while it waits for the connection or a lease. */
  streamId = 0
  readonly pattern: Pattern
  /** Demand asked for before the request was sent. */
  extraDemand = 0
  /** The call has ended. */
  settled = false
  /** The other side has ended it, and need not be told that it is given up. */
  answered = false
  /** When the call is given up; `Infinity` for never. In the clock of the requester. */
  deadline = Number.POSITIVE_INFINITY
  /** Milliseconds the caller allowed. */
  timeout = 0
  /** What feeds a channel; `undefined` for other calls. */
  input: ChannelInput | undefined
  /** Takes back what the call registered elsewhere, such as a listener of an `AbortSignal`. */
  cleanUp: (() => void) | undefined

  constructor(pattern: Pattern) {
    this.pattern = pattern
  }

  /** The pattern in words, for messages. */
  get name(): string {
    return typeof this.pattern === 'object' ? JSON.stringify(this.pattern) : String(this.pattern)
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
    this.cleanUp?.()
    this.cleanUp = undefined
  }
}

/** A call that wants one value. */
export class PendingRequest extends PendingCall {
  readonly #resolve: (value: unknown) => void
  readonly #reject: (error: Error) => void

  constructor(pattern: Pattern, resolve: (value: unknown) => void, reject: (error: Error) => void) {
    super(pattern)
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

  /** @param ownDemand the receiver asks for values itself */
  constructor(pattern: Pattern, receiver: CallReceiver, ownDemand: boolean) {
    super(pattern)
    this.#receiver = receiver
    this.#ownDemand = ownDemand
  }

  next(value: unknown): boolean {
    // The timeout is for the first answer; a stream may pause between values as long as it likes.
    this.deadline = Number.POSITIVE_INFINITY
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

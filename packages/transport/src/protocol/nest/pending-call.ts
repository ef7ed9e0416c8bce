/** Calls that wait for their answer: a request settles with the first value, a stream passes all on. */
import type { CallReceiver } from '../../call.ts'
import type { Pattern } from '../../pattern.ts'
import type { TableEntry } from './call-table.ts'

/** A call between its sending and its end. */
export abstract class PendingCall implements TableEntry {
  /** Given by the call table. */
  id = 0
  readonly pattern: Pattern
  /** When the call is given up; `Infinity` for never. In the clock of the requester. */
  deadline = Number.POSITIVE_INFINITY
  /** Milliseconds the caller allowed, for the message of the error. */
  timeout = 0
  /** Takes back what the call registered elsewhere, such as a listener of an `AbortSignal`. */
  cleanUp: (() => void) | undefined

  constructor(pattern: Pattern) {
    this.pattern = pattern
  }

  /** A value has come. True if the call needs no more. */
  abstract next(value: unknown): boolean
  /** The answer has ended. */
  abstract complete(): void
  /** The answer is an error, or will not come. */
  abstract fail(error: Error): void

  /** The call is over, however it ended. */
  release(): void {
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

/** A call that wants all values. */
export class PendingStream extends PendingCall {
  readonly #receiver: CallReceiver

  constructor(pattern: Pattern, receiver: CallReceiver) {
    super(pattern)
    this.#receiver = receiver
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
}

/**
 * Feeds a channel from a stream of the caller: the first value goes with the request, each other one when
 * the responder has granted demand. What an Observable emits without demand waits, within a bound.
 */
import { RejectedError } from '../../errors.ts'
import { type Cancel, consume, type ResultSink } from '../../result.ts'
import type { ChannelInput } from '../pending-call.ts'

/** Values of an Observable that may wait for demand. */
const MAX_WAITING = 65_536

/** How a channel sends. */
export interface ChannelOutput {
  /** Sends the request with the first value; `complete`: it is the only one. */
  open(value: unknown, complete: boolean): void
  next(value: unknown): void
  complete(): void
  /** The source failed, or cannot be slowed. */
  fail(error: Error): void
}

/** Joins a stream of values and a channel. */
export class ChannelFeed implements ChannelInput, ResultSink {
  readonly #output: ChannelOutput
  #cancel: Cancel | undefined
  #opened = false
  #stopped = false
  #completed = false
  #demand = 0
  #waiting: unknown[] = []
  #resume: (() => void) | undefined

  constructor(output: ChannelOutput) {
    this.#output = output
  }

  get stopped(): boolean {
    return this.#stopped
  }

  /** Starts to take values. */
  start(source: object): void {
    try {
      const cancel = consume(source, this)
      if (this.#stopped) cancel()
      else this.#cancel = cancel
    } catch (error) {
      this.error(error)
    }
  }

  next(value: unknown): void {
    if (this.#stopped) return
    if (!this.#opened) {
      this.#opened = true
      return this.#output.open(value, false)
    }
    if (this.#demand > 0 && this.#waiting.length === 0) {
      this.#demand--
      return this.#output.next(value)
    }
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push(value)
    else this.error(new RejectedError(`The other side has not asked for ${MAX_WAITING} values of the input`))
  }

  complete(): void {
    if (this.#stopped) return
    this.#completed = true
    if (!this.#opened) {
      this.#opened = true
      this.#stopped = true
      return this.#output.open(undefined, true)
    }
    this.#finishIfEmpty()
  }

  error(error: unknown): void {
    if (this.#stopped) return
    this.stop()
    this.#output.fail(error instanceof Error ? error : new Error(String(error)))
  }

  ready(): Promise<void> | undefined {
    if (!this.#opened || this.#demand > 0) return undefined
    return new Promise((resolve) => {
      this.#resume = resolve
    })
  }

  requestN(n: number): void {
    this.#demand += n
    let sent = 0
    while (this.#demand > 0 && sent < this.#waiting.length) {
      this.#demand--
      this.#output.next(this.#waiting[sent++])
    }
    if (sent > 0) this.#waiting.splice(0, sent)
    this.#finishIfEmpty()
    this.#wake()
  }

  stop(): void {
    if (this.#stopped) return
    this.#stopped = true
    this.#waiting = []
    this.#cancel?.()
    this.#wake()
  }

  #finishIfEmpty(): void {
    if (!this.#completed || this.#stopped || this.#waiting.length > 0) return
    this.#stopped = true
    this.#output.complete()
  }

  #wake(): void {
    const resume = this.#resume
    this.#resume = undefined
    resume?.()
  }
}

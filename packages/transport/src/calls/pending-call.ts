/**
 * Calls between their sending and their end, of whichever transport: a request settles with the first value, a
 * stream passes all on. Demand and channels are for transports that have them.
 */
import type { CallOptions, CallReceiver, StreamCall } from '../call.ts'
import { CanceledError, OptionError, TimeoutError } from '../errors/index.ts'
import type { Headers } from '../headers.ts'
import type { Pattern } from '../pattern.ts'
import type { TableEntry } from './stream-table.ts'
import type { Timer } from './timer.ts'

/** How a call is answered: by one value, by many, not at all. */
export type CallKind = 'request' | 'stream' | 'event'

/** Who has a call at the moment: the requester of a connection, or those that wait for one. */
export interface CallHolder {
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
  /** Given when the request is sent; 0 while it waits for the connection or a lease. */
  streamId = 0
  readonly pattern: Pattern
  readonly kind: CallKind
  /** What is asked: kept until the call ends, because it may have to be sent again. */
  readonly data: unknown
  readonly options: CallOptions | undefined
  /** Values asked for at first; -1 where there is no demand. */
  readonly initialDemand: number
  holder: CallHolder | undefined
  /** How often the call has been sent again. */
  retries = 0
  /** The endpoint at which the call failed last. */
  failedAt: { readonly name: string } | undefined
  /** The call has waited, for a connection or to be sent again: part of its time is over. */
  isDelayed = false
  /** An attempt may have reached the other side. */
  mayHaveRun = false
  /** A value has come: if the request were sent again now, it would be answered twice. */
  isAnswered = false
  /** Demand asked for before the request was sent. */
  extraDemand = 0
  /** The call has ended. */
  isSettled = false
  /** The other side has ended it, and need not be told that it is given up. */
  isOver = false
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

  /**
   * What every call needs before it is sent: it may be too late, and must not wait for ever.
   * @param timeout milliseconds for a call that says nothing else; 0 for no limit
   * @param cancel gives the call up, when its signal aborts
   * @throws {OptionError} an option is not what it must be
   * @throws {CanceledError} the signal has aborted
   */
  prepare(timer: Timer, timeout: number, cancel: (call: PendingCall, error: Error) => void): void {
    const { options } = this
    if (options === undefined) return this.limit(timer, timeout)
    checkCallOptions(options)
    const { signal } = options
    if (signal?.aborted) throw this.#canceled(signal)
    this.limit(timer, options.timeout ?? timeout)
    if (!signal) return
    const abort = () => cancel(this, this.#canceled(signal))
    signal.addEventListener('abort', abort, { once: true })
    this.cleanUp = () => signal.removeEventListener('abort', abort)
  }

  /** The error of a call whose time is over. @param mayHaveRun it is with the other side */
  timedOut(mayHaveRun: boolean): TimeoutError {
    const late =
      this.kind === 'event' ? `The event '${this.name}' has not left within ${this.timeout} ms` : undefined
    return new TimeoutError(this.name, this.timeout, mayHaveRun || this.mayHaveRun, late)
  }

  #canceled(signal: AbortSignal): CanceledError {
    return new CanceledError(this.name, signal.reason, this.streamId !== 0 || this.mayHaveRun)
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

  /** A value has come. True if the call needs no more. @param size bytes it had on the wire, about */
  abstract next(value: unknown, size: number): boolean
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
    const { cleanUp } = this
    this.cleanUp = undefined
    try {
      cleanUp()
    } catch {
      // A signal of the user's own making: the call has ended all the same.
    }
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

/** Values asked for at first, and at most. A window grows while its reader keeps up, and its bytes allow it. */
const FIRST_WINDOW = 256
const LARGEST_WINDOW = 16 * 1024
/** Bytes that the values of a window may have together, as far as can be told from those that have come. */
const WINDOW_BYTES = 1024 * 1024

/** A call that wants all values; of a channel, with the values that go the other way. */
export class PendingStream extends PendingCall implements StreamCall {
  readonly #receiver: CallReceiver
  /** The receiver asks for values itself. */
  readonly #asksItself: boolean
  #window = FIRST_WINDOW
  /** Values that were asked for and have not come. */
  #expected = FIRST_WINDOW
  /** The receiver has enough for now. */
  #isPaused = false
  /** It was paused since more was asked for: then the window does not grow. */
  #wasPaused = false
  /** Mean size of a value, the latest ones weighing most. */
  #meanSize = 0

  /** @param demand values asked for at first; `undefined`: more are asked for while the receiver takes them */
  constructor(
    pattern: Pattern,
    data: unknown,
    receiver: CallReceiver,
    options: CallOptions | undefined,
    demand: number | undefined
  ) {
    super(pattern, 'stream', data, options, demand ?? FIRST_WINDOW)
    this.#receiver = receiver
    this.#asksItself = demand !== undefined
  }

  next(value: unknown, size: number): boolean {
    // The timeout is for the first answer; a stream may pause between values as long as it likes.
    this.deadline = Number.POSITIVE_INFINITY
    this.isAnswered = true
    this.#expected--
    this.#meanSize += (size - this.#meanSize) / 8
    if (this.#receiver.next(value) === false) {
      this.#isPaused = true
      this.#wasPaused = true
    }
    return false
  }

  complete(): void {
    this.#receiver.complete()
  }

  fail(error: Error): void {
    this.#receiver.error(error)
  }

  override replenish(): number {
    if (this.#asksItself || this.#isPaused || this.#expected > this.#window / 2) return 0
    if (!this.#wasPaused) {
      const affordable = Math.floor(WINDOW_BYTES / Math.max(1, this.#meanSize))
      this.#window = Math.min(this.#window * 2, LARGEST_WINDOW, Math.max(affordable, 2))
    }
    this.#wasPaused = false
    const more = Math.max(0, this.#window - this.#expected)
    this.#expected += more
    return more
  }

  // ── what the caller of the stream holds, wherever the call is ────────────────────────────────────────

  cancel(): void {
    this.holder?.cancel(this)
  }

  resume(): void {
    this.#isPaused = false
    const more = this.replenish()
    if (more > 0) this.holder?.demand(this, more)
  }

  request(n: number): void {
    if (!this.isAnswered) this.extraDemand += n
    this.holder?.demand(this, n)
  }
}

/** @throws {OptionError} an option is not what it must be */
function checkCallOptions({ timeout, signal, headers }: CallOptions): void {
  if (timeout !== undefined && !(typeof timeout === 'number' && timeout >= 0))
    throw OptionError.expected('options.timeout', 'milliseconds, 0 for no limit', timeout)
  if (
    signal &&
    !(typeof signal.addEventListener === 'function' && typeof signal.removeEventListener === 'function')
  )
    throw OptionError.expected('options.signal', 'an AbortSignal', signal)
  if (headers !== undefined) checkHeaders(headers)
}

function checkHeaders(headers: Headers): void {
  if (typeof headers !== 'object' || headers === null)
    throw OptionError.expected('options.headers', 'an object of texts', headers)
  for (const name in headers) {
    if (typeof headers[name] !== 'string')
      throw OptionError.expected(`options.headers[${JSON.stringify(name)}]`, 'a text', headers[name])
  }
}

/** The source of a channel's values, as its call sees it. */
export interface ChannelInput {
  /** Everything is sent, or the other side takes no more. */
  readonly stopped: boolean
  start(source: object): void
  /** The other side takes `n` more values. */
  requestN(n: number): void
  /** What was sent has left: goes on. */
  resume(): void
  stop(): void
}

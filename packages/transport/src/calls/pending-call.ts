/**
 * Calls from their start to their end, the same for all transports: a request settles with the first value, a stream
 * passes all values on. Demand and channels are for transports that have them.
 */
import type { CallOptions, CallReceiver, PassingOptions, StreamCall } from '../call.ts'
import { CanceledError, ConnectionError, noteCall, OptionError, TimeoutError } from '../errors/index.ts'
import { type Headers, RESERVED_PREFIX } from '../headers.ts'
import { nameOf, type Pattern } from '../pattern.ts'
import type { TableEntry } from './stream-table.ts'
import type { Timer } from './timer.ts'
import { failedFor } from './waiting-lines.ts'

/** The answer that a call expects: one value, many, or none. */
export type CallKind = 'request' | 'stream' | 'event'

/** Holds a call at the moment: the requester of a connection, or the calls waiting for a connection. */
export interface CallHolder {
  /** Gives up the call without settling it. */
  cancel(call: PendingCall): void
  /** Lets the other side send `n` more values; with 0, those already asked for. */
  demand(call: PendingCall, n: number): void
  /** Gives up the call and fails it with the error. */
  giveUp(call: PendingCall, error: Error): void
}

/**
 * Is asked before a call fails. Returns true if it took the call over: the call goes on with another requester and must
 * not be failed.
 */
export type Recover = (call: PendingCall, error: Error) => boolean

/** A call that waits for its answer. */
export abstract class PendingCall implements TableEntry {
  /** Its number among the calls of its holder; 0 while it has none, because it waits. */
  sequence = 0
  /** Set by engines when the request is sent: what of its reply address nobody can guess. */
  secret = ''
  /** Set by engines: the number of the message in which several requests left together; 0: it left alone. */
  batch = 0
  /** The transport's own data about the destination. */
  attachment: object | undefined
  readonly pattern: Pattern
  readonly kind: CallKind
  /** The data; kept until the call ends, because it may have to be sent again. */
  readonly data: unknown
  readonly options: PassingOptions | undefined
  /** Values asked for with the request; -1 for a call without demand. */
  readonly initialDemand: number
  /** Bytes that the other side may send between two demands; `Infinity`: as many as are asked for. */
  readonly window: number
  /** The receiver has enough for now. */
  isPaused = false
  holder: CallHolder | undefined
  /** Number of retries so far. */
  retries = 0
  /** The endpoint at which the last attempt failed. */
  failedAt: { readonly name: string } | undefined
  /** The call had to wait for a connection or for a retry, so part of its time is over. */
  isDelayed = false
  /** This attempt may have left this process, or an earlier one may have run. */
  mayHaveRun = false
  /** An earlier attempt may have run, whatever becomes of this one. */
  mayHaveRunBefore = false
  /** A value has come, so the request must not be sent again: its receiver would get values twice. */
  isAnswered = false
  /** Demand granted before the request was sent. */
  extraDemand = 0
  /** The call has ended. */
  isSettled = false
  /** The other side has ended the call and need not be told that it is given up. */
  isOver = false
  /** Time at which the call is given up, in the clock of the requester; `Infinity` for never. */
  deadline = Number.POSITIVE_INFINITY
  /** Milliseconds the caller allowed. */
  timeout = 0
  /** Time at which the wait for a connection ends, if it waits for one; `Infinity`: with the deadline. */
  waitsUntil = Number.POSITIVE_INFINITY
  /** The feed of a channel; `undefined` for other calls. */
  input: ChannelInput | undefined
  /** Removes the call's listener from its `AbortSignal`. */
  cleanUp: (() => void) | undefined

  constructor(
    pattern: Pattern,
    kind: CallKind,
    data: unknown,
    options: PassingOptions | undefined,
    initialDemand: number,
    window = Number.POSITIVE_INFINITY
  ) {
    this.pattern = pattern
    this.kind = kind
    this.data = data
    this.options = options
    this.initialDemand = initialDemand
    this.window = window
  }

  /** The pattern as text, for error messages. */
  get name(): string {
    return nameOf(this.pattern)
  }

  /**
   * Checks the options, sets the deadline and listens to the signal. Called before the call is sent or has to wait, by
   * each holder that takes it.
   * @param timeout milliseconds for a call without its own timeout; 0 for no limit
   * @throws {OptionError} an option is wrong
   * @throws {CanceledError} the signal has already aborted
   */
  prepare(timer: Timer, timeout: number): void {
    const { options } = this
    if (options === undefined) return this.limit(timer, timeout)
    checkCallOptions(options)
    const { signal } = options
    if (signal?.aborted) throw this.#canceled(signal)
    this.limit(timer, options.timeout ?? timeout)
    if (!signal || this.cleanUp !== undefined) return
    const abort = () => this.holder?.giveUp(this, this.#canceled(signal))
    signal.addEventListener('abort', abort, { once: true })
    this.cleanUp = () => signal.removeEventListener('abort', abort)
  }

  /** The error of a call whose time is over. */
  timedOut(): TimeoutError {
    const late =
      this.kind === 'event' ? `The event '${this.name}' has not left within ${this.timeout} ms` : undefined
    return new TimeoutError(this.name, this.timeout, this.mayHaveRun, late)
  }

  #canceled(signal: AbortSignal): CanceledError {
    return new CanceledError(this.name, signal.reason, this.mayHaveRun)
  }

  /** Sets the deadline if the call has none, and asks the timer to wake at it. @param timeout 0 for no limit */
  limit(timer: Timer, timeout: number): void {
    if (this.deadline === Number.POSITIVE_INFINITY) {
      if (timeout === 0) return
      this.timeout = timeout
      this.deadline = timer.now() + timeout
    }
    timer.wakeAt(this.deadline)
  }

  /**
   * The call begins to wait for a connection: asks the timer to wake when it no longer does.
   * @param most milliseconds for a call without its own `waitForConnection`; `undefined`: until its deadline
   */
  waitForConnection(timer: Timer, most: number | undefined): void {
    const allowed = this.options?.waitForConnection ?? most
    this.waitsUntil = allowed === undefined ? Number.POSITIVE_INFINITY : timer.now() + allowed
    timer.wakeAt(this.waitsUntil)
  }

  /**
   * The error of a call that has waited too long for a connection.
   * @param reason why there is none
   * @param where such as ` to NATS at localhost:4222`
   */
  unconnected(most: number | undefined, reason?: Error, where = ''): ConnectionError {
    const isDeadline = this.deadline <= this.waitsUntil
    const time = isDeadline ? this.timeout : (this.options?.waitForConnection ?? most)
    const which = isDeadline ? '' : ' (waitForConnection)'
    const waited = time === 0 ? '' : ` within ${time} ms${which}`
    const why = reason === undefined ? '' : `: ${reason.message}`
    return new ConnectionError(`No connection${where}${waited}${why}`, this.mayHaveRun, reason)
  }

  /** Takes a value. Returns true if the call needs no more. @param size its approximate bytes on the wire */
  abstract next(value: unknown, size: number): boolean
  /** The answer has ended without an error. */
  abstract complete(): void
  /** The answer is an error, or no answer will come. */
  fail(error: Error): void {
    this.failed(noteCall(error, () => ({ pattern: this.name, mayHaveRun: this.mayHaveRunBefore })))
  }
  /** Gives the error to the caller. */
  protected abstract failed(error: Error): void
  /** Demand to grant to the other side after a value; 0 for none yet. */
  replenish(): number {
    return 0
  }
  /** The call is over, whatever the outcome. */
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

  /** @param resolve of the promise that the caller has; also takes a promise that rejects */
  constructor(
    pattern: Pattern,
    kind: 'request' | 'event',
    data: unknown,
    options: PassingOptions | undefined,
    resolve: (value: unknown) => void
  ) {
    super(pattern, kind, data, options, -1)
    this.#resolve = resolve
  }

  next(value: unknown): boolean {
    this.#resolve(value)
    return true
  }

  complete(): void {
    this.#resolve(undefined)
  }

  protected failed(error: Error): void {
    this.#resolve(failedFor(error))
  }
}

/** The most that RSocket can ask for at once; it means no limit. */
const MAX_DEMAND = 2 ** 31 - 1
/** First and largest window, in values. A window grows while the reader keeps up and its bytes allow it. */
const FIRST_WINDOW = 256
const LARGEST_WINDOW = 16 * 1024
/** Most bytes in a window, if nobody says how many. */
export const WINDOW_BYTES = 1024 * 1024

/** A call that wants all values; also a channel, which sends values too. */
export class PendingStream extends PendingCall implements StreamCall {
  readonly #receiver: CallReceiver
  /** The receiver asks for values itself (option `demand`). */
  readonly #asksItself: boolean
  #window = FIRST_WINDOW
  /** Values asked for that have not come yet. */
  #expected = FIRST_WINDOW
  /** Bytes that have come since the last demand. */
  #taken = 0
  /** It was paused since the last demand: then the window does not grow. */
  #wasPaused = false
  /** Moving average of the sizes of values, in bytes: what a window of values will be. */
  #meanSize = 0

  /**
   * @param demand values asked for at first; `undefined`: demand is granted while the receiver takes values
   * @param window bytes asked for ahead of the receiver, if demand is granted by itself
   * @throws {OptionError} `demand` is no number of values
   */
  constructor(
    pattern: Pattern,
    data: unknown,
    receiver: CallReceiver,
    options: CallOptions | undefined,
    demand: number | undefined,
    window: number
  ) {
    if (demand !== undefined && !(Number.isInteger(demand) && demand >= 1 && demand <= MAX_DEMAND))
      throw OptionError.expected('options.demand', `a whole number from 1 to ${MAX_DEMAND}`, demand)
    super(pattern, 'stream', data, options, demand ?? FIRST_WINDOW, demand === undefined ? window : undefined)
    this.#receiver = receiver
    this.#asksItself = demand !== undefined
  }

  next(value: unknown, size: number): boolean {
    // The timeout is for the first value only: a stream may pause between values as long as it likes.
    this.deadline = Number.POSITIVE_INFINITY
    this.isAnswered = true
    this.#expected--
    this.#taken += size
    this.#meanSize += (size - this.#meanSize) / 8
    if (this.#receiver.next(value, size) === false) {
      this.isPaused = true
      this.#wasPaused = true
    }
    return false
  }

  complete(): void {
    this.#receiver.complete()
  }

  protected failed(error: Error): void {
    this.#receiver.error(error)
  }

  override replenish(): number {
    const isDue = this.#expected <= this.#window / 2 || this.#taken >= this.window / 2
    if (this.#asksItself || this.isPaused || !isDue) return 0
    if (!this.#wasPaused) {
      const affordable = Math.floor(this.window / Math.max(1, this.#meanSize))
      this.#window = Math.min(this.#window * 2, LARGEST_WINDOW, Math.max(affordable, 2))
    }
    this.#wasPaused = false
    this.#taken = 0
    // At least one: the other side may wait to hear that its bytes were taken.
    const more = Math.max(1, this.#window - this.#expected)
    this.#expected += more
    return more
  }

  // ── calls from the reader of the stream, whichever holder has the call ────────────────────────────────────────

  cancel(): void {
    this.holder?.cancel(this)
  }

  resume(): void {
    this.isPaused = false
    this.holder?.demand(this, this.replenish())
  }

  request(n: number): void {
    if (!this.isAnswered) this.extraDemand += n
    this.holder?.demand(this, n)
  }
}

/** @throws {OptionError} an option is wrong */
export function checkCallOptions({
  timeout,
  waitForConnection,
  signal,
  headers
}: Pick<CallOptions, 'timeout' | 'waitForConnection' | 'signal' | 'headers'>): void {
  if (timeout !== undefined && !(typeof timeout === 'number' && timeout >= 0))
    throw OptionError.expected('options.timeout', 'milliseconds, 0 for no limit', timeout)
  if (waitForConnection !== undefined && !(typeof waitForConnection === 'number' && waitForConnection >= 0))
    throw OptionError.expected('options.waitForConnection', 'milliseconds, 0 for none', waitForConnection)
  if (
    signal &&
    !(typeof signal.addEventListener === 'function' && typeof signal.removeEventListener === 'function')
  )
    throw OptionError.expected('options.signal', 'an AbortSignal', signal)
  if (headers !== undefined) checkHeaders(headers)
}

function checkHeaders(headers: Headers): void {
  if (typeof headers !== 'object' || headers === null)
    throw OptionError.expected('options.headers', 'an object whose values are strings', headers)
  for (const name in headers) {
    const path = `options.headers[${JSON.stringify(name)}]`
    if (typeof headers[name] !== 'string') throw OptionError.expected(path, 'a string', headers[name])
    if (name.startsWith(RESERVED_PREFIX))
      throw new OptionError(
        path,
        `${path} is a reserved name: ${RESERVED_PREFIX}* are this library's own headers`
      )
  }
}

/** The feed of a channel, as its call sees it. */
export interface ChannelInput {
  /** All values are sent, or the other side takes no more. */
  readonly stopped: boolean
  /** Starts to take values from the stream of the caller. */
  start(source: object): void
  /** The other side takes `n` more values. */
  requestN(n: number): void
  /** There is room again: sends more. */
  resume(): void
  /** The call is over: no more is taken, and the source is cancelled. */
  stop(): void
}

/**
 * Calls from their start to their end, the same for all transports: a request settles with its first value, a stream
 * passes on all values. Demand and channels are used only by transports that have them.
 */
import { ASKS_FOR_HEADERS, type ReceivedHeaders, readAnswerHeaders } from '../answer-headers.ts'
import type { CallOptions, CallReceiver, PassingOptions, StreamCall } from '../call.ts'
import { CanceledError, ConnectionError, noteCall, OptionError, TimeoutError } from '../errors/index.ts'
import {
  type CallHeaders,
  ENDS_BINARY,
  type MessageHeaders,
  refuseReserved,
  textHeaders
} from '../headers.ts'
import { checkNames, checkTimes, mustBeBoolean, mustBeFunction } from '../options.ts'
import { nameOf, type Pattern } from '../pattern.ts'
import type { TableEntry } from './stream-table.ts'
import type { Timer } from './timer.ts'
import { failedFor } from './waiting-lines.ts'

/** The answer that a call expects: one value, many, or none. */
export type CallKind = 'request' | 'stream' | 'event'

/** Holds a call at the moment: the requester of a connection, or the list of calls that wait for a connection. */
export interface CallHolder {
  /** Cancels the call without settling it. */
  cancel(call: PendingCall): void
  /** Lets the other side send `n` more values; with 0, the values that were already requested. */
  demand(call: PendingCall, n: number): void
  /** Cancels the call and fails it with the error. */
  giveUp(call: PendingCall, error: Error): void
}

/**
 * Called before a call fails. Returns true if the function has taken the call over: the call then continues with
 * another requester and must not be failed.
 */
export type Recover = (call: PendingCall, error: Error) => boolean

/** A call that waits for its answer. */
export abstract class PendingCall implements TableEntry {
  /** The number of the call among the calls of its holder; 0 while the call waits and so has no number. */
  sequence = 0
  /** The unguessable part of the call's reply address. Engines set it when they send the request. */
  secret = ''
  /**
   * The number of the message in which several requests were sent together; 0 if the request was sent alone. Engines
   * set it.
   */
  batch = 0
  /** Data of the transport about the destination of the call. */
  attachment: object | undefined
  readonly pattern: Pattern
  readonly kind: CallKind
  /** The data of the call, stored until the call ends because it may have to be sent again. */
  readonly data: unknown
  readonly options: PassingOptions | undefined
  /** Number of values that the request itself asks for; -1 for a call without demand. */
  readonly initialDemand: number
  /** Bytes that the other side may send between two grants of demand; `Infinity`: all values that were requested. */
  readonly window: number
  /** The receiver takes no more values for now. */
  isPaused = false
  holder: CallHolder | undefined
  /** Number of retries so far. */
  retries = 0
  /** The endpoint at which the last attempt failed. */
  failedAt: { readonly name: string } | undefined
  /** The call had to wait for a connection or for a retry, so part of its time is over. */
  isDelayed = false
  /** The current attempt may have left this process, or an earlier attempt may have run. */
  mayHaveRun = false
  /** An earlier attempt may have run, whatever happens to the current attempt. */
  mayHaveRunBefore = false
  /** A value has arrived, so the request must not be sent again: the receiver would get values twice. */
  isAnswered = false
  /** Demand granted before the request was sent. */
  extraDemand = 0
  /** The call has ended. */
  isSettled = false
  /** The other side has ended the call, so it need not be told when the call is cancelled. */
  isOver = false
  /** Time at which the call is cancelled, in the clock of the requester; `Infinity` for never. */
  deadline = Number.POSITIVE_INFINITY
  /** Milliseconds that the caller allows for the call, of a stream for its first value. */
  timeout = 0
  /** Time at which the whole call is cancelled, in the same clock; `Infinity` without the option `lifetime`. */
  endsAt = Number.POSITIVE_INFINITY
  /** Time at which the call stops waiting for a connection; `Infinity`: at its deadline. */
  waitsUntil = Number.POSITIVE_INFINITY
  /** The feed that sends the values of a channel; `undefined` for other calls. */
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

  /** All text that travels beside the data: no transport reads it from the options, so a further option needs one place. */
  get headers(): MessageHeaders | undefined {
    const given = textHeaders(this.options?.headers)
    return this.asksForHeaders ? { ...given, [ASKS_FOR_HEADERS]: '1' } : given
  }

  /** Whether the caller wants the headers of the answer. */
  get asksForHeaders(): boolean {
    const { options } = this
    return options !== undefined && (options.onHeaders ?? options.onTrailers) !== undefined
  }

  /**
   * Passes headers of the answer to the caller.
   * @param json `undefined`: there are none
   * @throws {ProtocolError} they are malformed. Also throws the error of the caller's own function
   */
  hear(json: string | undefined): void {
    if (json !== undefined) this.heard(readAnswerHeaders(json))
  }

  /** Passes headers that are read already to the caller. Throws the error of the caller's own function. */
  heard({ headers, trailers }: ReceivedHeaders): void {
    if (headers) this.options?.onHeaders?.(headers)
    if (trailers) this.options?.onTrailers?.(trailers)
  }

  /** The pattern as text, for error messages. */
  get name(): string {
    return nameOf(this.pattern)
  }

  /**
   * Checks the options, sets the deadline and listens to the signal. Each new holder calls `prepare` before it sends
   * the call or lets the call wait.
   * @param timeout milliseconds for a call without its own timeout; 0 for no limit
   * @throws {OptionError} an option is wrong
   * @throws {CanceledError} the signal has already aborted
   */
  prepare(timer: Timer, timeout: number): void {
    const { options } = this
    if (options === undefined) return this.limit(timer, timeout)
    checkCallOptions(options, NAMES[this.kind])
    const { signal, lifetime, timeout: first = timeout } = options
    if (signal?.aborted) throw this.#canceled(signal)
    this.limit(timer, lifetime === undefined ? first : this.#live(timer, lifetime, first))
    if (!signal || this.cleanUp !== undefined) return
    const abort = () => this.holder?.giveUp(this, this.#canceled(signal))
    signal.addEventListener('abort', abort, { once: true })
    this.cleanUp = () => signal.removeEventListener('abort', abort)
  }

  /** Sets the end of the whole call, unless an earlier attempt has. Returns the milliseconds for its first value. */
  #live(timer: Timer, lifetime: number, timeout: number | false): number {
    if (this.endsAt === Number.POSITIVE_INFINITY) this.endsAt = timer.now() + lifetime
    return timeout ? Math.min(timeout, lifetime) : lifetime
  }

  /** Milliseconds that are left of the option `lifetime`, for the other side; `undefined` without that option. */
  lifetimeLeft(timer: Pick<Timer, 'now'>): number | undefined {
    if (this.endsAt === Number.POSITIVE_INFINITY) return undefined
    const left = this.isDelayed ? this.endsAt - timer.now() : (this.options?.lifetime as number)
    return Math.max(1, Math.ceil(left))
  }

  /**
   * Makes the error of a call whose deadline has passed.
   * @param why the reason, if it is known, as the end of a sentence
   */
  timedOut(why?: string): TimeoutError {
    const { name } = this
    // Behind the first value of a stream, only its lifetime ends.
    const timeout = this.isAnswered ? (this.options?.lifetime ?? 0) : this.timeout
    const late =
      this.kind === 'event'
        ? `The event '${name}' could not be sent within ${timeout} ms`
        : `No ${this.isAnswered ? 'end of the answer' : 'answer'} to '${name}' within ${timeout} ms`
    return new TimeoutError(name, timeout, this.mayHaveRun, why === undefined ? late : `${late}: ${why}`)
  }

  #canceled(signal: AbortSignal): CanceledError {
    return new CanceledError(this.name, signal.reason, this.mayHaveRun)
  }

  /**
   * Sets the deadline of a call that has none, and asks the timer to wake at the deadline.
   * @param timeout 0 or `false` for no limit
   */
  limit(timer: Timer, timeout: number | false): void {
    if (this.deadline === Number.POSITIVE_INFINITY) {
      if (!timeout) return
      this.timeout = timeout
      this.deadline = timer.now() + timeout
    }
    timer.wakeAt(this.deadline)
  }

  /**
   * The call begins to wait for a connection: asks the timer to wake at the end of the wait.
   * @param most milliseconds for a call without its own `waitForConnection`; `undefined`: until its deadline
   */
  waitForConnection(timer: Timer, most: number | undefined): void {
    const allowed = this.options?.waitForConnection ?? most
    this.waitsUntil = allowed === undefined ? Number.POSITIVE_INFINITY : timer.now() + allowed
    timer.wakeAt(this.waitsUntil)
  }

  /**
   * Makes the error of a call that has waited too long for a connection.
   * @param reason why there is no connection
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

  /**
   * Takes a value. Returns true if the call needs no more values.
   * @param size approximate bytes of the value on the wire
   */
  abstract next(value: unknown, size: number): boolean
  /** The answer has ended without an error. */
  abstract complete(): void
  /** The answer is an error, or no answer will come. */
  fail(error: Error): void {
    this.failed(noteCall(error, () => ({ pattern: this.name, mayHaveRun: this.mayHaveRunBefore })))
  }
  /** Passes the error to the caller. */
  protected abstract failed(error: Error): void
  /** The demand to grant to the other side after a value; 0 if no demand is due yet. */
  replenish(): number {
    return 0
  }
  /** Frees what the call holds, whatever its outcome was. */
  release(): void {
    this.input?.stop()
    if (this.cleanUp === undefined) return
    const { cleanUp } = this
    this.cleanUp = undefined
    try {
      cleanUp()
    } catch {
      // `removeEventListener` of a user's own signal may throw. The call has ended all the same.
    }
  }
}

/** A call that wants one value. */
export class PendingRequest extends PendingCall {
  readonly #resolve: (value: unknown) => void

  /** @param resolve resolves the promise that the caller has; the value may be a promise that rejects */
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

/** The largest demand that RSocket can express; RSocket reads it as "no limit". */
const MAX_DEMAND = 2 ** 31 - 1
/**
 * First and largest window, in values. A window grows while the reader keeps up and the values fit in the bytes of the
 * window.
 */
const FIRST_WINDOW = 256
const LARGEST_WINDOW = 16 * 1024
/** Most bytes in a window, if the user has set no other limit. */
export const WINDOW_BYTES = 1024 * 1024

/** A call that takes all values of the answer; also a channel, which sends values too. */
export class PendingStream extends PendingCall implements StreamCall {
  readonly #receiver: CallReceiver
  /** The receiver itself asks for values (option `demand`). */
  readonly #asksItself: boolean
  #window = FIRST_WINDOW
  /** Number of values that were requested and have not arrived. */
  #expected = FIRST_WINDOW
  /** Bytes that have arrived since demand was last granted. */
  #taken = 0
  /** The receiver paused the stream since demand was last granted, so the window does not grow. */
  #wasPaused = false
  /** Moving average of the sizes of values, in bytes; used to estimate the bytes of a window. */
  #meanSize = 0

  /**
   * @param demand number of values requested at first; `undefined`: demand is granted while the receiver takes values
   * @param window bytes requested ahead of the receiver, if `demand` is `undefined`
   * @throws {OptionError} `demand` is not a number of values
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
    // The timeout limits the wait for the first value only: behind it, the stream may take its whole lifetime.
    this.deadline = this.endsAt
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
    // At least one value, because the other side may wait for the news that its bytes were read.
    const more = Math.max(1, this.#window - this.#expected)
    this.#expected += more
    return more
  }

  // ── called by the reader of the stream ───────────────────────────────────────────────────────────────

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

/** The names of the options of an event. */
const OF_EVENTS = ['timeout', 'waitForConnection', 'signal', 'headers', 'key', 'within']
const OF_REQUESTS = [...OF_EVENTS, 'lifetime', 'onHeaders', 'onTrailers', 'idempotent', 'leavesUnread']

/** The names of options by the kind of call. */
const NAMES = {
  event: new Set(OF_EVENTS),
  request: new Set(OF_REQUESTS),
  stream: new Set([...OF_REQUESTS, 'demand'])
}

/** The options that are checked for all kinds of calls; `within` is replaced before. */
type Checked = Omit<PassingOptions, 'within'>

/** @throws {OptionError} an option is unknown or wrong */
export function checkCallOptions(options: Checked, known: ReadonlySet<string>): void {
  // This runs for each call with options, so it allocates nothing: 30 to 90 ns for two options.
  for (const name in options) if (!known.has(name)) checkNames('options', options, [...known])
  const { signal, headers, key, idempotent, leavesUnread, onHeaders, onTrailers } = options
  checkTimes(options)
  checkSignal(signal)
  if (headers !== undefined) checkHeaders(headers)
  if (key !== undefined) mustBeString('options.key', key)
  if (onHeaders !== undefined) mustBeFunction('options.onHeaders', onHeaders)
  if (onTrailers !== undefined) mustBeFunction('options.onTrailers', onTrailers)
  if (idempotent !== undefined) mustBeBoolean('options.idempotent', idempotent)
  if (leavesUnread !== undefined) mustBeBoolean('options.leavesUnread', leavesUnread)
}

function mustBeString(path: string, value: unknown): void {
  if (typeof value !== 'string') throw OptionError.expected(path, 'a text', value)
}

/** @throws {OptionError} it is no signal */
export function checkSignal(signal: AbortSignal | null | undefined): void {
  if (
    signal &&
    !(typeof signal.addEventListener === 'function' && typeof signal.removeEventListener === 'function')
  )
    throw OptionError.expected('options.signal', 'an AbortSignal', signal)
}

/** @throws {OptionError} a header is neither a text nor bytes with the name for them, or has a reserved name */
export function checkHeaders(headers: CallHeaders): void {
  if (typeof headers !== 'object' || headers === null)
    throw OptionError.expected('options.headers', 'an object whose values are strings', headers)
  for (const name in headers) {
    const path = `options.headers[${JSON.stringify(name)}]`
    const value = headers[name]
    const isBytes = name.endsWith(ENDS_BINARY) && value instanceof Uint8Array
    if (typeof value !== 'string' && !isBytes) throw OptionError.expected(path, 'a string', value)
    refuseReserved(name, path)
  }
}

/** The feed of a channel, as the call of the channel uses it. */
export interface ChannelInput {
  /** All values were sent, or the other side takes no more values. */
  readonly stopped: boolean
  /** Starts to take values from the stream of the caller. */
  start(source: object): void
  /** Lets the feed send `n` more values. */
  requestN(n: number): void
  /** There is room again: sends more values. */
  resume(): void
  /** The call has ended: takes no more values and cancels the source. */
  stop(): void
}

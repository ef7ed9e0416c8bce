/**
 * The answer to one request, in a transport whose callers grant demand. Values are sent as far as demand and the
 * connection allow. An Observable may emit further values: these are held as bytes, up to a limit. So an Observable that
 * never waits ends at that limit, also when its connection has ended and never has room again.
 */
import type { Answer } from './answer.ts'
import type { ByteWriter } from './bytes/byte-writer.ts'
import type { Encoded } from './codec/codec.ts'
import { RpcError } from './errors/index.ts'
import { HeldValues } from './held-values.ts'
import { consume, type StreamSink, type StreamSource } from './stream.ts'

/** The demand that stands for "no limit": values are sent without being counted. */
export const UNLIMITED = 2 ** 31 - 1

/** Makes the error of an Observable that has emitted too much ahead of its reader. */
export function streamOverflow(ahead: number, limit: number): RpcError {
  const message = `The stream is ${ahead} bytes ahead of its reader, more than limits.sendBuffer allows (${limit}); an Observable cannot be slowed, a generator can`
  return new RpcError({ code: 'STREAM_OVERFLOW', message })
}

/** Answers one request. Each transport implements how values are sent. */
export abstract class OutgoingValues implements Answer, StreamSink {
  /** Whether the caller wants the first value only. */
  readonly isSingle: boolean
  #demand: number
  /** The held values. Made when the first value has to wait for demand. */
  #held: HeldValues | undefined
  /** The stream has ended, perhaps while values are still held. */
  #isComplete = false
  #isDone = false
  /** The source was told to wait, or would have been told if it could wait: further values are held. */
  #isPaused = false
  #source: StreamSource | undefined
  /** Bytes that may be sent before the reader asks for more values, and bytes sent since the reader last asked. */
  readonly #window: number
  #ahead = 0

  /**
   * @param demand number of values that may be sent before the first `requestN`
   * @param window most bytes between two calls of `requestN`: the caller asks again when it has read half of them
   */
  constructor(demand: number, isSingle: boolean, window = Number.POSITIVE_INFINITY) {
    this.#demand = isSingle ? UNLIMITED : demand
    this.isSingle = isSingle
    this.#window = window
  }

  // ── implemented by each transport ────────────────────────────────────────────────────────────────────

  /**
   * Sends a value.
   * @param isLast no value follows
   * @throws the codec's error; then nothing was sent
   */
  protected abstract send(value: unknown, isLast: boolean): void
  /**
   * Encodes a value that has to wait.
   * @throws the codec's error
   */
  protected abstract encode(value: unknown): Encoded
  /** Sends bytes that `writeHeld` has written: one value, or several in a row, up to `mostHeldAtOnce`. */
  protected abstract sendHeld(bytes: Uint8Array): void
  /** Writes an encoded value in the form that `sendHeld` needs. */
  protected writeHeld(encoded: Encoded, out: ByteWriter): void {
    out.data(encoded)
  }
  /** Sends the end of the stream. */
  protected abstract sendEnd(): void
  /** Answers with the handler's error, which ends the request. */
  protected abstract sendError(error: unknown): void
  /** Answers that a value of the handler cannot be encoded. */
  protected abstract sendUnencodable(error: unknown): void
  /** Returns whether the connection takes more values now. If not, the connection calls `resume` later. */
  protected abstract hasRoom(): boolean
  /** Logs that the clean-up of a cancelled stream failed. */
  abstract teardownFailed(error: unknown): void
  /**
   * The request has ended. Called once.
   * @param isAborted the caller no longer waits for the answer
   */
  protected abstract over(isAborted: boolean): void
  /** Most values that are passed to one call of `sendHeld`. */
  protected get mostHeldAtOnce(): number {
    return 1
  }
  /** Counts bytes that were sent. */
  protected hasSent(size: number): void {
    this.#ahead += size
  }
  /** Whether the reader may be sent further bytes. */
  protected isInWindow(): boolean {
    return this.#ahead < this.#window
  }
  /** Most bytes that may be held. */
  protected abstract readonly maxHeldSize: number

  /** Whether the answer has ended or was cancelled. */
  get isDone(): boolean {
    return this.#isDone
  }

  // ── called by the handler's result ───────────────────────────────────────────────────────────────────

  value(value: unknown): void {
    if (this.#isDone) return
    // As in Nest, a stream has no values if the handler returns `undefined`.
    if (value === undefined && !this.isSingle) return this.#sendEnd()
    if (this.#demand > 0) return this.#sendLast(value)
    if (this.#hold(value)) this.#isComplete = true
  }

  stream(stream: object): void {
    if (this.#isDone) return
    const source = consume(stream, this)
    // An Observable may have ended, or its value may have failed to encode, before `consume` returned.
    if (this.#isDone) return source.cancel()
    this.#source = source
    if (this.#takesMore()) source.resume()
  }

  next(value: unknown): boolean | undefined {
    if (this.#isDone) return undefined
    if (this.isSingle) this.#sendLast(value)
    else if (!this.#isPaused && this.#maySend && this.#hasNoneHeld) {
      this.#useDemand(1)
      this.#send(value)
    } else this.#hold(value)
    return this.#isDone ? undefined : this.#takesMore()
  }

  /** The stream has no more values: the held values are sent first, then the end. */
  complete(): void {
    if (this.#isDone) return
    this.#isComplete = true
    if (this.#hasNoneHeld) this.#sendEnd()
  }

  error(error: unknown): void {
    if (this.#isDone) return
    const source = this.#done()
    this.sendError(error)
    this.#stop(source)
  }

  // ── called by the caller and the connection ──────────────────────────────────────────────────────────

  /** The caller asks for `n` more values. */
  requestN(n: number): void {
    // Demand adds up; from the largest number of the wire on, it is unlimited.
    this.#demand = Math.min(this.#demand + n, UNLIMITED)
    this.#ahead = 0
    this.resume()
  }

  #sendHeldValues(): void {
    while (this.#held?.isEmpty === false && this.#takesMore()) {
      const { bytes, count, size } = this.#held.take(Math.min(this.#demand, this.mostHeldAtOnce))
      this.#useDemand(count)
      this.hasSent(size)
      this.sendHeld(bytes)
    }
  }

  /** The connection takes values again, or the reader has taken some values. */
  resume(): void {
    this.#sendHeldValues()
    if (this.#isDone) return
    if (this.#isComplete && this.#hasNoneHeld) this.#sendEnd()
    else if (this.#takesMore()) this.#source?.resume()
  }

  /**
   * Stops the work, because the answer is not wanted any more.
   * @param say tells the caller the reason; default: the caller is not told
   */
  abort(say?: () => void): void {
    if (this.#isDone) return
    const source = this.#done()
    say?.()
    this.#stop(source, true)
  }

  #takesMore(): boolean {
    const takesMore = this.#maySend && this.hasRoom()
    this.#isPaused = !takesMore
    return takesMore
  }

  /** Whether the caller takes one more value. */
  get #maySend(): boolean {
    return this.#demand > 0 && this.isInWindow()
  }

  get #hasNoneHeld(): boolean {
    return this.#held === undefined || this.#held.isEmpty
  }

  #useDemand(count: number): void {
    if (this.#demand < UNLIMITED) this.#demand -= count
  }

  #send(value: unknown): void {
    try {
      this.send(value, false)
    } catch (error) {
      this.#failUnencodable(error)
    }
  }

  #sendLast(value: unknown): void {
    const source = this.#done()
    try {
      this.send(value, true)
    } catch (error) {
      this.sendUnencodable(error)
    }
    this.#stop(source)
  }

  #sendEnd(): void {
    const source = this.#done()
    this.sendEnd()
    this.#stop(source)
  }

  #failUnencodable(error: unknown): void {
    if (this.#isDone) return
    const source = this.#done()
    this.sendUnencodable(error)
    this.#stop(source)
  }

  /** Holds a value. Returns false if the value cannot be held, which ends the stream. */
  #hold(value: unknown): boolean {
    this.#held ??= new HeldValues()
    const held = this.#held
    try {
      const encoded = this.encode(value)
      // A `toJSON` of the value may have ended the stream.
      if (this.#isDone) return false
      held.add((out) => this.writeHeld(encoded, out), encoded.length)
    } catch (error) {
      this.#failUnencodable(error)
      return false
    }
    if (held.size <= this.maxHeldSize) return true
    this.error(streamOverflow(held.size, this.maxHeldSize))
    return false
  }

  // ── end: `#done`, then a last message to the caller, then `#stop` ───────────────────────────────────

  /** From now on, nothing is sent but the end. Returns the source, so that the calling method can stop it. */
  #done(): StreamSource | undefined {
    this.#isDone = true
    this.#held = undefined
    const source = this.#source
    this.#source = undefined
    return source
  }

  #stop(source: StreamSource | undefined, isAborted = false): void {
    source?.cancel()
    this.over(isAborted)
  }
}

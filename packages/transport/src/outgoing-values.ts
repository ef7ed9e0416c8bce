/**
 * One request that is being answered, in a transport whose callers grant demand: its state between the request and
 * the end of the answer. Values go out as demand and the connection allow; what an Observable emits beyond it
 * waits as bytes, within a bound.
 */
import type { Answer } from './answer.ts'
import { RpcError } from './errors/index.ts'
import { consume, type StreamSink, type StreamSource } from './stream.ts'

/** A demand that is as good as none: values go out without being counted. */
export const UNLIMITED = 2 ** 31 - 1

/** Answers one request. A transport says how values leave. */
export abstract class OutgoingValues implements Answer, StreamSink {
  /** Only the first value is wanted. */
  readonly isSingle: boolean
  #demand: number
  /**
   * Values that wait for demand, as the transport has encoded them: those of an Observable, which cannot be slowed.
   * Made for the first of them.
   */
  #held: Uint8Array[] | undefined
  #heldSize = 0
  /** The stream has no more values, and some are held. */
  #isComplete = false
  #isDone = false
  #source: StreamSource | undefined

  /** @param demand values that may be sent before `requestN` */
  constructor(demand: number, isSingle: boolean) {
    this.#demand = isSingle ? UNLIMITED : demand
    this.isSingle = isSingle
  }

  // ── how the transport sends ──────────────────────────────────────────────────────────────────────────

  /** Sends a value. @param isLast nothing follows. @throws what the codec throws; nothing is sent then */
  protected abstract send(value: unknown, isLast: boolean): void
  /** A value as `sendHeld` takes it. @throws what the codec throws */
  protected abstract hold(value: unknown): Uint8Array
  protected abstract sendHeld(bytes: Uint8Array): void
  /** Sends the end of a stream. */
  protected abstract sendEnd(): void
  /** Answers with the error of a handler, which ends the request. */
  protected abstract sendError(error: unknown): void
  /** Answers that a value cannot be encoded. */
  protected abstract sendUnencodable(error: unknown): void
  /** Whether the connection takes more at the moment. If not, it calls `resume` when it does. */
  protected abstract hasRoom(): boolean
  /** The clean-up of a stream that nobody takes any more has failed. */
  abstract teardownFailed(error: unknown): void
  /** The request is over. Called once. @param isAborted nobody waits for the answer any more */
  protected abstract over(isAborted: boolean): void
  /** Bytes that may be held. */
  protected abstract readonly maxHeldSize: number

  /** The answer has ended, or was given up. */
  get isDone(): boolean {
    return this.#isDone
  }

  // ── what the handler gives ───────────────────────────────────────────────────────────────────────────

  value(value: unknown): void {
    if (this.#isDone) return
    if (this.#demand > 0) return this.#sendLast(value)
    if (this.#hold(value)) this.#isComplete = true
  }

  stream(stream: object): void {
    if (this.#isDone) return
    const source = consume(stream, this)
    // An Observable may have ended, or have failed to be encoded, before `consume` returned.
    if (this.#isDone) return source.cancel()
    this.#source = source
    if (this.#demand > 0 && this.hasRoom()) source.resume()
  }

  next(value: unknown): boolean {
    if (this.#isDone) return false
    if (this.isSingle) this.#sendLast(value)
    else if (this.#demand > 0 && !this.#held?.length) {
      this.#useDemand()
      this.#send(value)
    } else this.#hold(value)
    return !this.#isDone && this.#demand > 0 && this.hasRoom()
  }

  complete(): void {
    if (this.#isDone) return
    this.#isComplete = true
    if (!this.#held?.length) this.#sendEnd()
  }

  error(error: unknown): void {
    if (this.#isDone) return
    const source = this.#done()
    this.sendError(error)
    this.#stop(source)
  }

  // ── what the caller and the connection say ───────────────────────────────────────────────────────────

  /** The caller asks for `n` more values. */
  requestN(n: number): void {
    // Credits add up; more than the field can hold is as good as unlimited.
    this.#demand = Math.min(this.#demand + n, UNLIMITED)
    if (this.#held !== undefined) this.#sendHeldValues(this.#held)
    if (this.#isDone) return
    if (this.#isComplete && !this.#held?.length) this.#sendEnd()
    else this.resume()
  }

  #sendHeldValues(held: Uint8Array[]): void {
    let sent = 0
    while (!this.#isDone && this.#demand > 0 && sent < held.length) {
      const bytes = held[sent++] as Uint8Array
      this.#heldSize -= bytes.length
      this.#useDemand()
      this.sendHeld(bytes)
    }
    if (sent > 0) held.splice(0, sent)
  }

  /** The connection takes more again. */
  resume(): void {
    if (!this.#isDone && this.#demand > 0 && this.hasRoom()) this.#source?.resume()
  }

  /** Nobody waits any more: stops the work. @param say tells the caller why; default: nothing is said */
  abort(say?: () => void): void {
    if (this.#isDone) return
    const source = this.#done()
    say?.()
    this.#stop(source, true)
  }

  #useDemand(): void {
    if (this.#demand < UNLIMITED) this.#demand--
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

  /** Keeps a value; false if it cannot be kept, which ends the stream. */
  #hold(value: unknown): boolean {
    let bytes: Uint8Array
    try {
      bytes = this.hold(value)
    } catch (error) {
      this.#failUnencodable(error)
      return false
    }
    this.#held ??= []
    this.#held.push(bytes)
    this.#heldSize += bytes.length
    if (this.#heldSize <= this.maxHeldSize) return true
    const message = `The stream is ${this.#heldSize} bytes ahead of its reader, more than limits.sendBuffer allows (${this.maxHeldSize}); an Observable cannot be slowed, a generator can`
    this.error(new RpcError({ code: 'STREAM_OVERFLOW', message }))
    return false
  }

  // ── the end: `#done`, then what the caller is told, then `#stop` ─────────────────────────────────────

  /** Nothing more is sent but the end itself. Gives the source, which is to be stopped. */
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

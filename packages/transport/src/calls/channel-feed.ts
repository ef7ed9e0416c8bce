/**
 * Feeds a channel from a stream of the caller: the first value is sent with the request, the others as the other side
 * grants demand. An Observable may emit values beyond the demand: these are held as bytes, up to a limit.
 */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import type { Encoded } from '../codec/codec.ts'
import { OverloadedError } from '../errors/index.ts'
import { HeldValues } from '../held-values.ts'
import { consume, type StreamSink, type StreamSource } from '../stream.ts'
import type { ChannelInput } from './pending-call.ts'

/** Sends the values of a channel. If a method throws, the channel fails with that error. */
export interface ChannelOutput {
  /** Most bytes of values that may wait for demand. */
  readonly maxHeldSize: number
  /** Returns whether a value may be sent now. If not, the output calls `resume` of the feed later. */
  hasRoomFor(feed: { resume(): void }): boolean
  /**
   * Sends the request with the first value.
   * @param isOnly no other value follows
   */
  open(value: unknown, isOnly: boolean): void
  /** Sends a further value. */
  next(value: unknown): void
  /** Encodes a value that has to wait for demand. */
  encode(value: unknown): Encoded
  /** Writes an encoded value into `out` in the form that `sendHeld` needs. */
  writeHeld(encoded: Encoded, out: ByteWriter): void
  /** Sends the held values that `writeHeld` has written. */
  sendHeld(bytes: Uint8Array): void
  /** Sends the end of the channel. */
  complete(): void
  /** Fails the channel: its source has failed, or has emitted too many values beyond the demand. */
  fail(error: Error): void
  /** Logs that the clean-up of the cancelled source has failed. */
  teardownFailed(error: unknown): void
}

/** Connects a stream of values to a channel. */
export class ChannelFeed implements ChannelInput, StreamSink {
  readonly #output: ChannelOutput
  #source: StreamSource | undefined
  #isOpened = false
  #isStopped = false
  #isComplete = false
  #demand = 0
  #held = new HeldValues()

  constructor(output: ChannelOutput) {
    this.#output = output
  }

  get stopped(): boolean {
    return this.#isStopped
  }

  /** Starts to take values from the stream. */
  start(stream: object): void {
    const source = consume(stream, this)
    if (this.#isStopped) return source.cancel()
    this.#source = source
    source.resume()
  }

  next(value: unknown): boolean | undefined {
    if (this.#isStopped) return undefined
    try {
      this.#take(value)
    } catch (error) {
      this.error(error)
    }
    return this.stopped ? undefined : this.#maySend
  }

  /** Sends more values. Called when there is room again. */
  resume(): void {
    this.requestN(0)
  }

  /** The source has no more values. The held values are sent before the end of the channel. */
  complete(): void {
    if (this.#isStopped) return
    this.#isComplete = true
    if (this.#isOpened) return this.#finishIfEmpty()
    this.#isOpened = true
    this.#isStopped = true
    try {
      this.#output.open(undefined, true)
    } catch (error) {
      this.#output.fail(asError(error))
    }
  }

  /** The source has failed, so the channel fails. */
  error(error: unknown): void {
    if (this.#isStopped) return
    this.stop()
    this.#output.fail(asError(error))
  }

  teardownFailed(error: unknown): void {
    this.#output.teardownFailed(error)
  }

  requestN(n: number): void {
    this.#demand += n
    while (!this.#held.isEmpty && this.#maySend) {
      this.#demand--
      this.#output.sendHeld(this.#held.take(1).bytes)
    }
    this.#finishIfEmpty()
    if (!this.#isStopped && this.#maySend) this.#source?.resume()
  }

  /** Cancels the source: the other side takes no more values, or the call has ended. */
  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#held = new HeldValues()
    this.#source?.cancel()
  }

  get #maySend(): boolean {
    return this.#demand > 0 && this.#output.hasRoomFor(this)
  }

  #take(value: unknown): void {
    if (!this.#isOpened) {
      this.#isOpened = true
      return this.#output.open(value, false)
    }
    if (this.#held.isEmpty && this.#maySend) {
      this.#demand--
      return this.#output.next(value)
    }
    const encoded = this.#output.encode(value)
    this.#held.add((out) => this.#output.writeHeld(encoded, out))
    const { size } = this.#held
    const { maxHeldSize } = this.#output
    if (size > maxHeldSize)
      throw new OverloadedError(
        `${size} bytes ahead of the reader, more than limits.sendBuffer allows (${maxHeldSize}); an Observable cannot be slowed, a generator can`
      )
  }

  #finishIfEmpty(): void {
    if (!this.#isComplete || this.#isStopped || !this.#held.isEmpty) return
    this.#isStopped = true
    this.#output.complete()
  }
}

/**
 * Makes an Error of the value with which a source failed. A source may fail with any value, even with one that throws
 * when it is converted to text.
 */
function asError(error: unknown): Error {
  try {
    return error instanceof Error ? error : new Error(String(error))
  } catch (cause) {
    return new Error('The stream of the call failed with a value that cannot be shown as text', { cause })
  }
}

/**
 * Feeds a channel from a stream of the caller: the first value goes with the request, the others as the other side
 * grants demand. Values that an Observable emits beyond the demand are held as bytes, up to a limit.
 */
import type { ByteWriter } from '../bytes/byte-writer.ts'
import type { Encoded } from '../codec/codec.ts'
import { OverloadedError } from '../errors/index.ts'
import { HeldValues } from '../held-values.ts'
import { consume, type StreamSink, type StreamSource } from '../stream.ts'
import type { ChannelInput } from './pending-call.ts'

/** Sends the values of a channel. An error that a method throws fails the channel. */
export interface ChannelOutput {
  /** Most bytes of values that may wait for demand. */
  readonly maxHeldSize: number
  /** Whether a value may be sent now. If not, `resume` of the feed is called later. */
  hasRoomFor(feed: { resume(): void }): boolean
  /** Sends the request with the first value. @param isOnly no other value follows */
  open(value: unknown, isOnly: boolean): void
  /** Sends a further value. */
  next(value: unknown): void
  /** Encodes a value that has to wait. */
  encode(value: unknown): Encoded
  /** Writes an encoded value as `sendHeld` is to be given it. */
  writeHeld(encoded: Encoded, out: ByteWriter): void
  /** Sends values that had to wait, as `writeHeld` wrote them. */
  sendHeld(bytes: Uint8Array): void
  /** Sends the end of the channel. */
  complete(): void
  /** The source has failed, or is too far ahead of the demand. */
  fail(error: Error): void
  /** Logs that the clean-up of the cancelled source failed. */
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

  next(value: unknown): boolean {
    if (this.#isStopped) return false
    try {
      this.#take(value)
    } catch (error) {
      this.error(error)
    }
    return this.#maySend
  }

  /** Called when there is room again: sends more. */
  resume(): void {
    this.requestN(0)
  }

  /** The source has no more values: what waits is sent first. */
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

  /** The source has failed, and with it the channel. */
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

  /** The other side takes no more, or the call is over: the source is cancelled. */
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
        `The values of the call are ${size} bytes ahead of the other side, more than limits.sendBuffer allows (${maxHeldSize}); an Observable cannot be slowed, a generator can`
      )
  }

  #finishIfEmpty(): void {
    if (!this.#isComplete || this.#isStopped || !this.#held.isEmpty) return
    this.#isStopped = true
    this.#output.complete()
  }
}

/** The error of a source, made of whatever it failed with: any value, even one that throws when it is read. */
function asError(error: unknown): Error {
  try {
    return error instanceof Error ? error : new Error(String(error))
  } catch (cause) {
    return new Error('The stream of the call failed with a value that cannot be shown as text', { cause })
  }
}

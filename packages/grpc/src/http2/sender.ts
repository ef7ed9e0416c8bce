/**
 * Sends data as far as the windows of the peer and the socket have room. What has no room waits, and streams that wait take
 * turns, a frame each. RFC 9113, section 5.2.
 */
import type { Output } from '@elysia-microservices/rsocket'
import { ByteList, copyBytes } from '@elysia-microservices/transport/kit'
import { DataFrames, type FrameBytes } from './data-frames.ts'
import { ConnectionFault, ErrorCode, StreamFault, tooMuch } from './error-code.ts'
import { FIRST_WINDOW, FRAME_SIZE, MAX_UINT31 } from './frame-type.ts'
import type { Guard } from './guard.ts'
import type { Http2Stream } from './stream.ts'

/** Bytes of a frame from which it has a use, although the peer's window has cut it. */
const USEFUL = 1_024

/** The connection, as the sender needs it. */
export interface SenderOwner {
  readonly bytes: FrameBytes
  readonly guard: Guard
  readonly output: Pick<Output, 'isBlocked' | 'hasRoomFor'> | undefined
  /** Bytes were written. */
  committed(): void
  /** Writes fields. */
  writeFields(stream: Http2Stream, fields: readonly string[], isLast: boolean): void
  /** The last frame of this side was written. */
  sentAll(stream: Http2Stream): void
  /** Ends the connection. */
  fail(error: Error): void
}

/** The sending half of a connection. */
export class Sender {
  readonly #owner: SenderOwner
  readonly #maxPending: number
  readonly #frames: DataFrames
  /** Bytes that the window of the connection has room for. */
  #window = FIRST_WINDOW
  /** Streams with bytes that wait for the connection and not for their own window. The first one is next. */
  readonly #ready = new Set<Http2Stream>()
  /** Streams that have nothing to send, and want to be told when there is room. */
  readonly #waiting = new Set<Http2Stream>()
  /** Bytes of all streams that wait. */
  pending = 0
  #isPumping = false

  /** @param maxPending most bytes that may wait */
  constructor(owner: SenderOwner, maxPending: number) {
    this.#owner = owner
    this.#maxPending = maxPending
    this.#frames = new DataFrames(owner.bytes)
  }

  /**
   * Sends the first `length` bytes of a buffer, or lets them wait. The buffer may change afterwards, and also meanwhile: a
   * write may let others run who use it.
   * @param isLast nothing comes behind them
   */
  data(stream: Http2Stream, buffer: Uint8Array, length: number, isLast: boolean): void {
    if (length === 0 && !isLast) return
    if (!stream.hasPending && this.#roomOf(stream) >= length)
      return this.#write(stream, buffer, 0, length, isLast, true)
    this.#inFrames(stream, copyBytes(buffer, 0, length), isLast)
  }

  /** Sends bytes that are more than a frame or the peer has room for. */
  #inFrames(stream: Http2Stream, bytes: Uint8Array, isLast: boolean): void {
    const { length } = bytes
    if (stream.hasPending) return this.#wait(stream, bytes, 0, isLast)
    let at = 0
    do {
      const room = this.#roomOf(stream)
      if (room === 0 && length > 0) return this.#wait(stream, bytes, at, isLast)
      const end = Math.min(length, at + room)
      this.#write(stream, bytes, at, end, isLast && end === length, end === length)
      at = end
      // A write may find out that the connection must end.
    } while (at < length && stream.isSending)
  }

  /** Whether a stream may send now. If not, its `resume` is called when it may. */
  hasRoomFor(stream: Http2Stream): boolean {
    if (stream.hasPending || stream.sendWindow <= 0 || this.#window <= 0) {
      this.#waiting.add(stream)
      return false
    }
    return this.#owner.output?.hasRoomFor(stream) ?? true
  }

  /**
   * The window of a stream has grown.
   * @throws {StreamFault} beyond the largest window
   */
  streamWindow(stream: Http2Stream, increment: number): void {
    stream.sendWindow += increment
    if (stream.sendWindow > MAX_UINT31)
      throw new StreamFault(stream.id, ErrorCode.FLOW_CONTROL_ERROR, 'A window is above 2^31-1')
    this.#hasMore(stream)
    this.pump()
  }

  /**
   * The window of the connection has grown.
   * @throws {ConnectionFault} beyond the largest window
   */
  connectionWindow(increment: number): void {
    this.#window += increment
    if (this.#window > MAX_UINT31)
      throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, 'The window of the connection is above 2^31-1')
    this.pump()
  }

  /**
   * The peer has changed the size of the windows of all streams.
   * @throws {ConnectionFault} a window is beyond the largest one
   */
  changeWindows(streams: readonly Http2Stream[], difference: number): void {
    for (const stream of streams) {
      stream.sendWindow += difference
      if (stream.sendWindow > MAX_UINT31)
        throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, 'SETTINGS make a window larger than 2^31-1')
      this.#hasMore(stream)
    }
    this.pump()
  }

  /** Sends what waits, as far as there is room, and tells streams that want to send more. */
  pump(): void {
    // A stream that is told may send, which may end another one: no second round within the first.
    if (this.#isPumping) return
    this.#isPumping = true
    try {
      this.#sendReady()
      if (this.#ready.size === 0 && this.#window > 0) this.#tell()
    } finally {
      this.#isPumping = false
    }
  }

  /** A stream has ended: drops what waits. */
  forget(stream: Http2Stream): void {
    this.pending -= (stream.pending?.length ?? 0) + lengthOfChunk(stream)
    stream.pending = undefined
    stream.chunk = undefined
    this.#ready.delete(stream)
    this.#waiting.delete(stream)
  }

  #sendReady(): void {
    for (const stream of this.#ready) {
      // SETTINGS can make a window smaller.
      if (stream.sendWindow > 0 && this.#roomOf(stream) === 0) return
      // Behind the others, so that each has its turn: the loop comes to it again.
      this.#ready.delete(stream)
      if (stream.sendWindow > 0) this.#sendPending(stream)
      if (stream.isSending) this.#hasMore(stream)
    }
  }

  #tell(): void {
    const told: Http2Stream[] = []
    for (const stream of this.#waiting) if (!stream.hasPending && stream.sendWindow > 0) told.push(stream)
    for (const stream of told) this.#waiting.delete(stream)
    for (const stream of told) stream.resume()
  }

  #hasMore(stream: Http2Stream): void {
    if (stream.hasPending && stream.sendWindow > 0) this.#ready.add(stream)
  }

  #roomOf(stream: Http2Stream): number {
    if (this.#owner.output?.isBlocked) return 0
    return Math.max(0, Math.min(stream.sendWindow, this.#window, FRAME_SIZE))
  }

  #wait(stream: Http2Stream, bytes: Uint8Array, from: number, isLast: boolean): void {
    stream.pending ??= new ByteList()
    stream.pending.add(from === 0 ? bytes : bytes.subarray(from))
    this.pending += bytes.length - from
    if (isLast) stream.ending = 'nothing'
    if (this.pending > this.#maxPending)
      return this.#owner.fail(
        tooMuch(`${this.pending} bytes wait for the peer to read; limits.sendBuffer is ${this.#maxPending}`)
      )
    this.#hasMore(stream)
  }

  #sendPending(stream: Http2Stream): void {
    const chunk = stream.chunk ?? (stream.pending?.shift() as Uint8Array)
    const at = stream.chunkAt
    const end = Math.min(chunk.length, at + this.#roomOf(stream))
    const isDone = end === chunk.length
    stream.chunk = isDone ? undefined : chunk
    stream.chunkAt = isDone ? 0 : end
    this.pending -= end - at
    const { ending } = stream
    const isEmpty = !stream.hasPending
    this.#write(stream, chunk, at, end, isEmpty && ending === 'nothing', isDone)
    if (!isEmpty || ending === undefined || ending === 'nothing') return
    this.#owner.writeFields(stream, ending, true)
  }

  /** @param isWhole the bytes end here, and not because a window has cut them */
  #write(
    stream: Http2Stream,
    bytes: Uint8Array,
    start: number,
    end: number,
    isLast: boolean,
    isWhole: boolean
  ): void {
    stream.sendWindow -= end - start
    this.#window -= end - start
    this.#frames.write(stream.id, bytes, start, end, isLast)
    // Frames that tiny windows have cut are work, and no use.
    if (isWhole || end - start >= USEFUL) this.#owner.guard.sent()
    this.#owner.committed()
    if (isLast) this.#owner.sentAll(stream)
  }
}

function lengthOfChunk({ chunk, chunkAt }: Http2Stream): number {
  return chunk === undefined ? 0 : chunk.length - chunkAt
}

/**
 * The sending half of an RSocket connection: writes frames directly into the send buffer, cuts long frames into
 * fragments, and stores frames if the connection can be resumed.
 */
import { ByteWriter, type Encoded, PayloadTooLargeError } from '@elysia-microservices/transport/kit'
import { sendBufferFull } from '../connection/connection-errors.ts'
import type { Output, WaitingStream } from '../connection/protocol.ts'
import {
  ErrorCode,
  Flag,
  FrameType,
  HEADER_LENGTH,
  LENGTH_FIELD,
  MAX_FRAME_LENGTH,
  TYPE_SHIFT
} from './frame-type.ts'
import { beginFrame, endFrame, writeCancel, writeComplete, writeError, writeRequestN } from './frames.ts'
import type { ResumeState } from './resume.ts'

const METADATA_LENGTH_FIELD = 3

/** The number of a stream in its table. Uses an unsigned shift, because 2^31-1 is a stream id too. */
export function sequenceOf(streamId: number): number {
  return (streamId + 1) >>> 1
}

/** Sends the frames of one connection. If the connection is resumed, its sockets follow one another. */
export class Wire {
  /** Frames that wait for the next write, or for the first socket. */
  readonly bytes = new ByteWriter()
  readonly #maxFrameLength: number
  /** Most bytes that may wait to be sent, and most bytes of one message. */
  readonly maxUnsent: number
  // These are fields and not accessors, because they are read many times for each message. Only the wire sets them.
  /** The session of the present socket; `undefined` while there is none. */
  output: Output | undefined
  /** The state for resuming; `undefined` if the connection cannot be resumed. */
  resumption: ResumeState | undefined
  /** The socket is lost, or the other end has not agreed to resume yet: frames are stored and not sent. */
  isDetached = false
  /** The connection has ended: nothing more is sent. */
  isEnded = false

  /** @param maxFrameLength most bytes of a frame, without its length field */
  constructor(maxUnsent: number, maxFrameLength = MAX_FRAME_LENGTH) {
    this.maxUnsent = maxUnsent
    this.#maxFrameLength = maxFrameLength
  }

  /** Whether there has been no socket yet. */
  get isUnopened(): boolean {
    return this.output === undefined && !this.isDetached
  }

  /** Whether frames are sent to a socket now. */
  get isConnected(): boolean {
    return this.output !== undefined && !this.isDetached
  }

  /** Bytes that wait to be sent. */
  get unsent(): number {
    return this.output?.unsent ?? this.bytes.length
  }

  /** Whether frames are sent to a socket that is not blocked, and arrive even if that socket is lost and resumed. */
  get takesMore(): boolean {
    return this.isConnected && this.output?.isBlocked === false && this.resumption?.isKnown !== false
  }

  /**
   * Returns whether a stream may send now. If not, `resume` of the stream is called later. No stream may send between
   * two sockets, or after the end: otherwise one that always has a value would never stop.
   */
  hasRoomFor(stream: WaitingStream): boolean {
    if (this.isDetached || this.isEnded) return false
    return this.output === undefined || this.output.hasRoomFor(stream)
  }

  /** A socket is connected: sends the waiting frames. */
  open(output: Output): void {
    this.output = output
    output.attach(this.bytes)
    if (this.bytes.length > 0) output.committed()
  }

  /** The socket is lost, but the connection may be resumed: stores frames for the next socket. */
  detach(): void {
    this.isDetached = true
    this.output = undefined
    this.bytes.reset()
  }

  /** Both ends have agreed to resume: sends the frames that the other end has not received. */
  reattach(resumption: ResumeState, receivedByPeer: number): void {
    this.isDetached = false
    for (const frame of resumption.framesFrom(receivedByPeer)) {
      this.bytes.bytes(frame)
      this.output?.committed()
    }
  }

  /** Tells the peer its error, and ends the connection. */
  fail(error: Error, code: number = ErrorCode.CONNECTION_ERROR, text = error.message): void {
    if (this.isEnded) return
    writeError(this.bytes, 0, code, text)
    this.isEnded = true
    this.output?.end(error)
  }

  /**
   * Drops the socket because nothing was received for too long. Does not wait for the peer to close, because the
   * network may be down. The connection may be resumed over another socket.
   */
  lose(error: Error): void {
    if (this.resumption === undefined) {
      writeError(this.bytes, 0, ErrorCode.CONNECTION_ERROR, error.message)
      this.isEnded = true
    }
    this.output?.destroy(error)
  }

  /** Sends frames on stream 0 that were written to `bytes`. They are not stored for resuming. */
  flush(): void {
    this.output?.committed()
  }

  // ── frames of streams ────────────────────────────────────────────────────────────────────────────────

  /**
   * Sends a PAYLOAD.
   * @throws {PayloadTooLargeError} the message is longer than `maxUnsent`; then nothing was sent
   */
  payload(streamId: number, flags: number, metadata: Uint8Array | undefined, data: Encoded): void {
    this.#commit(this.#write(streamId, FrameType.PAYLOAD, flags, -1, metadata, data, this.bytes))
  }

  /**
   * Sends a request, if the send buffer has room for it.
   * @param initialN initial demand of a stream or channel; -1 for frames without demand
   * @throws {PayloadTooLargeError} the message is longer than `maxUnsent`; then nothing was sent
   * @throws {OverloadedError} the send buffer has no room; then nothing was sent
   */
  request(
    streamId: number,
    type: number,
    flags: number,
    initialN: number,
    metadata: Uint8Array,
    data: Encoded
  ): void {
    const start = this.#write(streamId, type, flags, initialN, metadata, data, this.bytes)
    const { unsent } = this
    if (unsent > this.maxUnsent) {
      const size = this.bytes.length - start
      this.bytes.rewind(start)
      throw sendBufferFull(unsent - size, size, this.maxUnsent)
    }
    this.#commit(start)
  }

  /** Writes a PAYLOAD that `held` will send later. */
  hold(streamId: number, metadata: Uint8Array | undefined, data: Encoded, out: ByteWriter): void {
    this.#write(streamId, FrameType.PAYLOAD, Flag.NEXT, -1, metadata, data, out)
  }

  /** Sends frames that `hold` has written. */
  held(frames: Uint8Array): void {
    const start = this.bytes.length
    this.bytes.bytes(frames)
    this.#commit(start)
  }

  complete(streamId: number): void {
    const start = this.bytes.length
    writeComplete(this.bytes, streamId)
    this.#commit(start)
  }

  error(streamId: number, code: number, data: string): void {
    const start = this.bytes.length
    writeError(this.bytes, streamId, code, data)
    this.#commit(start)
  }

  requestN(streamId: number, n: number): void {
    const start = this.bytes.length
    writeRequestN(this.bytes, streamId, n)
    this.#commit(start)
  }

  cancel(streamId: number): void {
    const start = this.bytes.length
    writeCancel(this.bytes, streamId)
    this.#commit(start)
  }

  /**
   * Writes a frame, in fragments if it is too long. Returns its position in `out`.
   * @throws {PayloadTooLargeError} the message is too long; then nothing was written
   */
  #write(
    streamId: number,
    type: number,
    flags: number,
    initialN: number,
    metadata: Uint8Array | undefined,
    data: Encoded,
    out: ByteWriter
  ): number {
    const start = out.length
    const all = metadata === undefined ? flags : flags | Flag.METADATA
    // The length is written when it is known.
    out.frameHeader(0, streamId, (type << TYPE_SHIFT) | all)
    if (initialN >= 0) out.uint32(initialN)
    if (metadata !== undefined) {
      out.uint24(metadata.length)
      out.bytes(metadata)
    }
    out.data(data)
    const size = out.length - start
    if (size > this.maxUnsent) {
      out.rewind(start)
      throw new PayloadTooLargeError('limits.sendBuffer', this.maxUnsent, size, 'bytes of a message')
    }
    out.setUint24(start, size - LENGTH_FIELD)
    if (size - LENGTH_FIELD > this.#maxFrameLength)
      this.#cut(out, start, streamId, type, flags, initialN, metadata?.length)
    return start
  }

  /** Sends the frames of streams that were written to `bytes` from `start` on. */
  #commit(start: number): void {
    if (this.isEnded) return this.bytes.reset()
    if (this.resumption !== undefined) {
      this.resumption.sent(this.bytes.copyFrom(start))
      if (this.isDetached) return this.bytes.rewind(start)
    }
    this.output?.committed()
  }

  /** Replaces the frame from `start` on by fragments. All metadata precedes all data. */
  #cut(
    out: ByteWriter,
    start: number,
    streamId: number,
    type: number,
    flags: number,
    initialN: number,
    metadataLength: number | undefined
  ): void {
    const whole = out.copyFrom(start + LENGTH_FIELD)
    out.rewind(start)
    let at = HEADER_LENGTH + (initialN >= 0 ? 4 : 0)
    at += metadataLength === undefined ? 0 : METADATA_LENGTH_FIELD
    let metadataLeft = metadataLength ?? -1
    // COMPLETE is set on the last fragment only, because it ends the payload.
    const firstFlags = flags & ~Flag.COMPLETE
    for (let isFirst = true; at < whole.length; isFirst = false) {
      const hasMetadata = metadataLeft >= 0
      const hasDemand = isFirst && initialN >= 0
      const fixed = HEADER_LENGTH + (hasDemand ? 4 : 0) + (hasMetadata ? METADATA_LENGTH_FIELD : 0)
      const room = this.#maxFrameLength - fixed
      const metadata = hasMetadata ? Math.min(metadataLeft, room) : 0
      const data = metadataLeft > metadata ? 0 : Math.min(room - metadata, whole.length - at - metadata)
      const isLast = at + metadata + data === whole.length
      const ending = isLast ? flags & Flag.COMPLETE : Flag.FOLLOWS
      const kept = isFirst ? firstFlags : Flag.NEXT
      const kind = isFirst ? type : FrameType.PAYLOAD
      const frame = beginFrame(out, streamId, kind, kept | ending | (hasMetadata ? Flag.METADATA : 0))
      if (hasDemand) out.uint32(initialN)
      if (hasMetadata) out.uint24(metadata)
      out.bytes(whole.subarray(at, at + metadata + data))
      endFrame(out, frame)
      at += metadata + data
      metadataLeft = metadataLeft > metadata ? metadataLeft - metadata : -1
    }
  }
}

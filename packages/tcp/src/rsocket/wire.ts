/**
 * The sending half of an RSocket connection: frames are written straight into the buffer they leave from, cut into
 * fragments if they are too long, and kept if the connection can be resumed.
 */
import { ByteWriter, type Codec, openCodec, PayloadTooLargeError } from '@elysia-microservices/transport/kit'
import { sendBufferFull } from '../connection/connection-errors.ts'
import type { Output, WaitingStream } from '../connection/protocol.ts'
import { ErrorCode, Flag, FrameType, HEADER_LENGTH, MAX_FRAME_LENGTH } from './frame-type.ts'
import {
  beginFrame,
  endFrame,
  writeCancel,
  writeComplete,
  writeError,
  writeMetadata,
  writeRequestN
} from './frames.ts'
import type { ResumeState } from './resume.ts'

const LENGTH_FIELD = 3
const METADATA_LENGTH_FIELD = 3

/** Sends the frames of one connection, over one socket or over several one after the other. */
export class Wire {
  /** Frames that wait for the end of the turn, or for the first socket. */
  readonly bytes = new ByteWriter()
  readonly #maxFrameLength: number
  /** Bytes that may wait to be sent, and that one message may have. */
  readonly maxUnsent: number
  #output: Output | undefined
  /** What a lost connection is resumed with; `undefined` if it is not. */
  resumption: ResumeState | undefined
  /** The socket is lost, or its successor is not agreed on: frames are kept, not sent. */
  #isDetached = false
  /** The connection is over: nothing more is sent. */
  isEnded = false

  /** @param maxFrameLength bytes a frame may have, without its length field */
  constructor(maxUnsent: number, maxFrameLength = MAX_FRAME_LENGTH) {
    this.maxUnsent = maxUnsent
    this.#maxFrameLength = maxFrameLength
  }

  /** Where frames go; `undefined` while there is no socket. */
  get output(): Output | undefined {
    return this.#output
  }

  get isDetached(): boolean {
    return this.#isDetached
  }

  /** Whether what is sent reaches a socket. */
  get isConnected(): boolean {
    return this.#output !== undefined && !this.#isDetached
  }

  /** Bytes that wait to be sent. */
  get unsent(): number {
    return this.#output?.unsent ?? this.bytes.length
  }

  /** Whether what is sent reaches a socket that is not behind with what it has already. */
  get takesMore(): boolean {
    return this.isConnected && this.#output?.isBlocked === false
  }

  /** Whether a stream may send at the moment. If not, its `resume` is called when it may. */
  hasRoomFor(stream: WaitingStream): boolean {
    return this.#output === undefined || this.#output.hasRoomFor(stream)
  }

  /** A socket is there: what has waited for it leaves. */
  open(output: Output): void {
    this.#output = output
    output.attach(this.bytes)
    if (this.bytes.length > 0) output.committed()
  }

  /** The socket is lost, the connection is not: frames are kept for another one. */
  detach(): void {
    this.#isDetached = true
    this.#output = undefined
    this.bytes.reset()
  }

  /** Both ends have agreed to go on: sends what the other end has not received. */
  reattach(resumption: ResumeState, receivedByPeer: number): void {
    this.#isDetached = false
    for (const frame of resumption.framesFrom(receivedByPeer)) {
      this.bytes.bytes(frame)
      this.#output?.committed()
    }
  }

  /** Tells the peer what it did wrong, and ends the connection. */
  fail(error: Error, code: number = ErrorCode.CONNECTION_ERROR, text = error.message): void {
    if (this.isEnded) return
    writeError(this.bytes, 0, code, text)
    this.#output?.committed()
    this.isEnded = true
    this.#output?.end(error)
  }

  /**
   * Nothing has come from the peer for too long. Nobody waits for it to close: it may be behind a link that is
   * gone. A connection that can be resumed is resumed by another socket.
   */
  lose(error: Error): void {
    if (this.resumption === undefined) {
      writeError(this.bytes, 0, ErrorCode.CONNECTION_ERROR, error.message)
      this.isEnded = true
    }
    this.#output?.destroy(error)
  }

  /** Frames of the connection itself stand in `bytes`, and may leave. They are not kept for resumption. */
  flush(): void {
    this.#output?.committed()
  }

  // ── frames of streams ────────────────────────────────────────────────────────────────────────────────

  /**
   * Sends a request or a PAYLOAD.
   * @param initialN the demand a stream or channel begins with; -1 for frames without one
   * @throws {PayloadTooLargeError} it is longer than may wait to be sent at all; nothing is sent then
   * @throws what the codec throws; nothing is sent then
   */
  payload(
    streamId: number,
    type: number,
    flags: number,
    initialN: number,
    metadata: Uint8Array | undefined,
    codec: Codec,
    value: unknown
  ): void {
    this.#commit(this.#write(streamId, type, flags, initialN, metadata, codec, value))
  }

  /**
   * Sends a request, if what waits to be sent leaves room for it. Throws as `payload`, and
   * @throws {OverloadedError} there is no room; nothing is sent then
   */
  request(
    streamId: number,
    type: number,
    flags: number,
    initialN: number,
    metadata: Uint8Array,
    codec: Codec,
    value: unknown
  ): void {
    const start = this.#write(streamId, type, flags, initialN, metadata, codec, value)
    const { unsent } = this
    if (unsent > this.maxUnsent) {
      const size = this.bytes.length - start
      this.bytes.rewind(start)
      codec.takenBack?.()
      throw sendBufferFull(unsent - size, size, this.maxUnsent)
    }
    this.#commit(start)
  }

  /** A PAYLOAD to be sent later, by `held`, or never. Throws as `payload`. */
  hold(streamId: number, metadata: Uint8Array | undefined, codec: Codec, value: unknown): Uint8Array {
    // Of a codec that remembers, it must not count on what is said before it leaves, nor the other way round.
    const own = codec.stateful ? (openCodec(codec.mimeType) as Codec) : codec
    const start = this.#write(streamId, FrameType.PAYLOAD, Flag.NEXT, -1, metadata, own, value)
    const held = this.bytes.copyFrom(start)
    this.bytes.rewind(start)
    return held
  }

  /** Sends what `hold` has written. */
  held(frames: Uint8Array, codec: Codec): void {
    const start = this.bytes.length
    this.bytes.bytes(frames)
    this.#commit(start)
    // It has said keys by numbers of its own.
    codec.takenBack?.()
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

  /** Writes a frame, in fragments if it is too long; where it begins. */
  #write(
    streamId: number,
    type: number,
    flags: number,
    initialN: number,
    metadata: Uint8Array | undefined,
    codec: Codec,
    value: unknown
  ): number {
    const out = this.bytes
    const start = out.length
    try {
      beginFrame(out, streamId, type, metadata === undefined ? flags : flags | Flag.METADATA)
      if (initialN >= 0) out.uint32(initialN)
      if (metadata !== undefined) writeMetadata(out, metadata)
      codec.encode(value, out)
      const size = out.length - start
      if (size > this.maxUnsent)
        throw new PayloadTooLargeError('limits.sendBuffer', this.maxUnsent, size, 'bytes of a message')
    } catch (error) {
      out.rewind(start)
      codec.takenBack?.()
      throw error
    }
    if (endFrame(out, start) > this.#maxFrameLength)
      this.#cut(start, streamId, type, flags, initialN, metadata?.length)
    return start
  }

  /** What stands in `bytes` from `start` on are whole frames of streams, which may leave. */
  #commit(start: number): void {
    if (this.isEnded) return this.bytes.reset()
    if (this.resumption !== undefined) {
      this.resumption.sent(this.bytes.copyFrom(start))
      if (this.#isDetached) return this.bytes.rewind(start)
    }
    this.#output?.committed()
  }

  /** Replaces the frame that stands from `start` on by fragments; all metadata goes before any data. */
  #cut(
    start: number,
    streamId: number,
    type: number,
    flags: number,
    initialN: number,
    metadataLength: number | undefined
  ): void {
    const out = this.bytes
    const whole = out.copyFrom(start + LENGTH_FIELD)
    out.rewind(start)
    let at = HEADER_LENGTH + (initialN >= 0 ? 4 : 0)
    at += metadataLength === undefined ? 0 : METADATA_LENGTH_FIELD
    let metadataLeft = metadataLength ?? -1
    // COMPLETE belongs to the last fragment: a frame with it would end the payload at once.
    const firstFlags = flags & ~Flag.COMPLETE
    for (let isFirst = true; at < whole.length || isFirst; isFirst = false) {
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

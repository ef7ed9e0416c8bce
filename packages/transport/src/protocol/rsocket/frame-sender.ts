/**
 * Sends the frames of streams: encodes a value straight into the connection's buffer, cuts it into fragments
 * if it is too long for a frame, and keeps what a resumed connection may have to send again.
 */
import type { ByteWriter } from '../../bytes/byte-writer.ts'
import type { Codec } from '../../codec/codec.ts'
import { PayloadTooLargeError } from '../../errors.ts'
import { Flag, FrameType, HEADER_LENGTH, MAX_FRAME_LENGTH } from './frame-type.ts'
import {
  beginFrame,
  endFrame,
  writeCancel,
  writeComplete,
  writeError,
  writeMetadata,
  writeMetadataPush,
  writeRequestN
} from './frames.ts'

/** Where frames go. */
export interface FrameOutput {
  /** The buffer they are written into. */
  readonly bytes: ByteWriter
  /** What stands in the buffer from `start` on are whole frames, which may leave. */
  commit(start: number): void
}

const LENGTH_FIELD = 3
const METADATA_LENGTH_FIELD = 3

/** Writes frames with a payload, and the small ones of streams. */
export class FrameSender {
  readonly #output: FrameOutput
  readonly #fragmentSize: number

  readonly #maxSendBufferSize: number

  /**
   * @param fragmentSize bytes a frame may have, without its length field
   * @param maxSendBufferSize bytes a message may have, fragments together
   */
  constructor(output: FrameOutput, fragmentSize: number, maxSendBufferSize: number) {
    this.#output = output
    this.#fragmentSize = fragmentSize
    this.#maxSendBufferSize = maxSendBufferSize
  }

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
    const out = this.#output.bytes
    const start = out.length
    try {
      beginFrame(out, streamId, type, metadata === undefined ? flags : flags | Flag.METADATA)
      if (initialN >= 0) out.uint32(initialN)
      if (metadata !== undefined) writeMetadata(out, metadata)
      codec.encode(value, out)
      const size = out.length - start
      if (size > this.#maxSendBufferSize) {
        throw new PayloadTooLargeError('maxSendBufferSize', this.#maxSendBufferSize, size, 'bytes')
      }
    } catch (error) {
      out.rewind(start)
      codec.takenBack?.()
      throw error
    }
    if (endFrame(out, start) > this.#fragmentSize)
      this.#cut(start, streamId, type, flags, initialN, metadata?.length)
    this.#output.commit(start)
  }

  complete(streamId: number): void {
    this.#send((out) => writeComplete(out, streamId))
  }

  error(streamId: number, code: number, data: string): void {
    this.#send((out) => writeError(out, streamId, code, data))
  }

  requestN(streamId: number, n: number): void {
    this.#send((out) => writeRequestN(out, streamId, n))
  }

  cancel(streamId: number): void {
    this.#send((out) => writeCancel(out, streamId))
  }

  /** @throws {PayloadTooLargeError} this frame cannot be cut into fragments */
  metadataPush(metadata: Uint8Array): void {
    const room = MAX_FRAME_LENGTH - HEADER_LENGTH
    if (metadata.length > room)
      throw new PayloadTooLargeError('METADATA_PUSH', room, metadata.length, 'bytes')
    this.#send((out) => writeMetadataPush(out, metadata))
  }

  #send(write: (out: ByteWriter) => void): void {
    const out = this.#output.bytes
    const start = out.length
    write(out)
    this.#output.commit(start)
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
    const out = this.#output.bytes
    const whole = out.copyFrom(start + LENGTH_FIELD)
    out.rewind(start)
    let at = 6 + (initialN >= 0 ? 4 : 0) + (metadataLength === undefined ? 0 : METADATA_LENGTH_FIELD)
    let metadataLeft = metadataLength ?? -1
    // COMPLETE belongs to the last fragment: a frame with it would end the payload at once.
    const firstFlags = flags & ~Flag.COMPLETE
    for (let first = true; at < whole.length || first; first = false) {
      const hasMetadata = metadataLeft >= 0
      const fixed = 6 + (first && initialN >= 0 ? 4 : 0) + (hasMetadata ? METADATA_LENGTH_FIELD : 0)
      const room = this.#fragmentSize - fixed
      const metadata = hasMetadata ? Math.min(metadataLeft, room) : 0
      const data = metadataLeft > metadata ? 0 : Math.min(room - metadata, whole.length - at - metadata)
      const last = at + metadata + data === whole.length
      const follows = last ? flags & Flag.COMPLETE : Flag.FOLLOWS
      const kind = first ? type : FrameType.PAYLOAD
      const kept = first ? firstFlags : Flag.NEXT
      const frame = beginFrame(out, streamId, kind, kept | follows | (hasMetadata ? Flag.METADATA : 0))
      if (first && initialN >= 0) out.uint32(initialN)
      if (hasMetadata) out.uint24(metadata)
      out.bytes(whole.subarray(at, at + metadata + data))
      endFrame(out, frame)
      at += metadata + data
      metadataLeft = metadataLeft > metadata ? metadataLeft - metadata : -1
    }
  }
}

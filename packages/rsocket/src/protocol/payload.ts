/** Metadata and data of a frame, by their positions. Protocol.md, "Metadata and Data". */
import {
  type Codec,
  copyBytes,
  ProtocolError,
  readUint24,
  UnreadJson
} from '@elysia-microservices/transport/kit'
import { Flag } from './frame-type.ts'

/** Metadata (if any) and data of a frame, by their positions in its buffer. */
export interface Payload {
  readonly buffer: Uint8Array
  /** Position of the metadata; -1 if there is none. */
  readonly metadataStart: number
  readonly metadataEnd: number
  readonly dataStart: number
  readonly dataEnd: number
}

/**
 * Finds metadata and data of a frame.
 * @param at the position behind the other fields of the frame
 * @throws {ProtocolError} the metadata reaches beyond the frame
 */
export function readPayload(buffer: Uint8Array, flags: number, at: number, end: number): Payload {
  if ((flags & Flag.METADATA) === 0)
    return { buffer, metadataStart: -1, metadataEnd: -1, dataStart: at, dataEnd: end }
  if (at + 3 > end) throw new ProtocolError('A frame with the metadata flag has no metadata length')
  const metadataStart = at + 3
  const metadataEnd = metadataStart + readUint24(buffer, at)
  if (metadataEnd > end) {
    throw new ProtocolError(`The metadata of a frame reaches ${metadataEnd - end} bytes beyond the frame`)
  }
  return { buffer, metadataStart, metadataEnd, dataStart: metadataEnd, dataEnd: end }
}

/** Makes a payload from its positions. */
export function newPayload(
  buffer: Uint8Array,
  metadataStart: number,
  metadataEnd: number,
  dataStart: number,
  dataEnd: number
): Payload {
  return { buffer, metadataStart, metadataEnd, dataStart, dataEnd }
}

/**
 * Decodes the value of a payload.
 * @throws {ProtocolError} the data is not of the codec's type
 */
export function dataOf({ buffer, dataStart, dataEnd }: Payload, codec: Codec): unknown {
  return codec.decode(buffer, dataStart, dataEnd)
}

/** Number of bytes of the data. */
export function sizeOf({ dataStart, dataEnd }: Payload): number {
  return dataEnd - dataStart
}

/** Returns the JSON value of a payload without parsing it; `undefined` for no bytes. */
export function unreadOf({ buffer, dataStart, dataEnd }: Payload): UnreadJson | undefined {
  return dataStart === dataEnd ? undefined : new UnreadJson(copyBytes(buffer, dataStart, dataEnd))
}

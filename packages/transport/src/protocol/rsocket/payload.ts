/** Where metadata and data lie in a frame that has both. Protocol.md, "Metadata Optional Header". */
import { readUint24 } from '../../bytes/read.ts'
import { ProtocolError } from '../../errors.ts'
import { Flag } from './frame-type.ts'
import type { RawPayload } from './reassembly.ts'

/**
 * Finds the parts of a payload that begins at `at`.
 * @throws {ProtocolError} the metadata reaches beyond the frame
 */
export function readPayload(buffer: Buffer, flags: number, at: number, end: number): RawPayload {
  if ((flags & Flag.METADATA) === 0) {
    return { buffer, metadataStart: -1, metadataEnd: -1, dataStart: at, dataEnd: end }
  }
  if (at + 3 > end) throw new ProtocolError('A frame with the metadata flag has no metadata length')
  const metadataStart = at + 3
  const metadataEnd = metadataStart + readUint24(buffer, at)
  if (metadataEnd > end) {
    throw new ProtocolError(`The metadata of a frame reaches ${metadataEnd - end} bytes beyond the frame`)
  }
  return { buffer, metadataStart, metadataEnd, dataStart: metadataEnd, dataEnd: end }
}

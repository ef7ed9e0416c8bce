/** Reads and writes the SETUP frame, with which a client opens a connection. Protocol.md, "SETUP Frame". */
import {
  type ByteWriter,
  copyBytes,
  ProtocolError,
  readUint16,
  readUint24,
  readUint31,
  text
} from '@elysia-microservices/transport/kit'
import { Flag, FrameType, HEADER_LENGTH, MAJOR_VERSION, MINOR_VERSION } from './frame-type.ts'
import { beginFrame, endFrame, writeMetadata } from './frames.ts'

/** The content of a SETUP frame. */
export interface Setup {
  readonly majorVersion: number
  readonly minorVersion: number
  /** Milliseconds between the client's KEEPALIVE frames. */
  readonly keepaliveInterval: number
  /** Milliseconds without a KEEPALIVE after which the client regards the server as dead. */
  readonly maxLifetime: number
  readonly metadataMimeType: string
  readonly dataMimeType: string
  /** Whether the client waits for leases. */
  readonly lease: boolean
  /** The token with which the client may resume the connection. */
  readonly resumeToken: Uint8Array | undefined
  readonly metadata: Uint8Array | undefined
  readonly data: Uint8Array | undefined
}

/** The content of a SETUP that this library sends. The version is always that of this library. */
export type OwnSetup = Omit<Setup, 'majorVersion' | 'minorVersion'>

export function writeSetup(out: ByteWriter, setup: OwnSetup): void {
  const { metadata, resumeToken } = setup
  const flags =
    (metadata === undefined ? 0 : Flag.METADATA) |
    (resumeToken === undefined ? 0 : Flag.RESUME) |
    (setup.lease ? Flag.LEASE : 0)
  const start = beginFrame(out, 0, FrameType.SETUP, flags)
  out.uint16(MAJOR_VERSION)
  out.uint16(MINOR_VERSION)
  out.uint32(setup.keepaliveInterval)
  out.uint32(setup.maxLifetime)
  if (resumeToken !== undefined) {
    out.uint16(resumeToken.length)
    out.bytes(resumeToken)
  }
  for (const mimeType of [setup.metadataMimeType, setup.dataMimeType]) {
    out.uint8(mimeType.length)
    out.utf8(mimeType)
  }
  if (metadata !== undefined) writeMetadata(out, metadata)
  if (setup.data !== undefined) out.bytes(setup.data)
  endFrame(out, start)
}

/**
 * Reads a SETUP frame. Copies its content, which must stay valid when the chunk is reused.
 * @throws {ProtocolError} a field reaches beyond the frame
 */
export function readSetup(buffer: Uint8Array, start: number, end: number): Setup {
  const flags = readUint16(buffer, start + 4)
  let at = start + HEADER_LENGTH
  const take = (length: number): number => {
    const field = at
    at += length
    if (at > end) throw new ProtocolError('A SETUP frame ends within one of its fields')
    return field
  }
  const majorVersion = readUint16(buffer, take(2))
  const minorVersion = readUint16(buffer, take(2))
  const keepaliveInterval = readUint31(buffer, take(4))
  const maxLifetime = readUint31(buffer, take(4))
  let resumeToken: Uint8Array | undefined
  if (flags & Flag.RESUME) {
    const length = readUint16(buffer, take(2))
    resumeToken = copyBytes(buffer, take(length), at)
  }
  const mimeType = () => {
    const length = buffer[take(1)] as number
    return text.latin1(buffer, take(length), at)
  }
  const metadataMimeType = mimeType()
  const dataMimeType = mimeType()
  let metadata: Uint8Array | undefined
  if (flags & Flag.METADATA) {
    const length = readUint24(buffer, take(3))
    metadata = copyBytes(buffer, take(length), at)
  }
  const data = at < end ? copyBytes(buffer, at, end) : undefined
  const lease = (flags & Flag.LEASE) !== 0
  return {
    majorVersion,
    minorVersion,
    keepaliveInterval,
    maxLifetime,
    metadataMimeType,
    dataMimeType,
    lease,
    resumeToken,
    metadata,
    data
  }
}

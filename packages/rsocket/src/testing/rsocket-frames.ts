/** Builds RSocket frames byte by byte, for tests. It uses none of the code under test. */

/** Names of the frame types, by number. */
export const TYPES = [
  'RESERVED',
  'SETUP',
  'LEASE',
  'KEEPALIVE',
  'REQUEST_RESPONSE',
  'REQUEST_FNF',
  'REQUEST_STREAM',
  'REQUEST_CHANNEL',
  'REQUEST_N',
  'CANCEL',
  'PAYLOAD',
  'ERROR',
  'METADATA_PUSH',
  'RESUME',
  'RESUME_OK'
]

/** Flags by letter: Ignore, Metadata, Follows, Complete, Next; Respond, Resume and Lease share their bits. */
const FLAGS: Readonly<Record<string, number>> = {
  I: 0x200,
  M: 0x100,
  F: 0x80,
  R: 0x80,
  C: 0x40,
  L: 0x40,
  N: 0x20
}

export type Bytes = string | Uint8Array

export const COMPOSITE = 'message/x.rsocket.composite-metadata.v0'

/** Makes a frame: length field, stream id, type, flags (bits, or letters such as `'MF'`), then the body. */
export function frame(
  streamId: number,
  type: string | number,
  flags: number | string,
  ...body: Bytes[]
): Buffer {
  const number = typeof type === 'number' ? type : type === 'EXT' ? 0x3f : TYPES.indexOf(type)
  const bits =
    typeof flags === 'number' ? flags : [...flags].reduce((sum, letter) => sum | (FLAGS[letter] as number), 0)
  const content = join(body)
  const header = Buffer.alloc(9)
  header.writeUIntBE(6 + content.length, 0, 3)
  header.writeUInt32BE(streamId, 3)
  header.writeUInt16BE((number << 10) | bits, 7)
  return Buffer.concat([header, content])
}

/** Joins texts and bytes. */
export function join(parts: readonly Bytes[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
}

export function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

export function uint24(value: number): Buffer {
  const bytes = Buffer.alloc(3)
  bytes.writeUIntBE(value, 0, 3)
  return bytes
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Makes metadata with its length, as it precedes data. */
export function metadata(...parts: Bytes[]): Buffer {
  const content = join(parts)
  return Buffer.concat([uint24(content.length), content])
}

/** Makes an entry of composite metadata. Its MIME type is a number or a name (stored with its length minus one). */
export function entry(mimeType: number | string, ...content: Bytes[]): Buffer {
  const type =
    typeof mimeType === 'number' ? [Buffer.of(0x80 | mimeType)] : [Buffer.of(mimeType.length - 1), mimeType]
  return join([...type, metadata(...content)])
}

/** Makes the routing entry of composite metadata. */
export function routeEntry(name: string): Buffer {
  return entry(0x7e, Buffer.of(Buffer.byteLength(name)), name)
}

/** Makes the entry that carries headers. */
export function headersEntry(headers: object): Buffer {
  return entry(0x05, JSON.stringify(headers))
}

/** Makes the metadata of a request that has only a route. */
export function route(name: string): Buffer {
  return metadata(routeEntry(name))
}

/** Makes a REQUEST_RESPONSE for a route. */
export function request(streamId: number, name: string, data: Bytes): Buffer {
  return frame(streamId, 'REQUEST_RESPONSE', 'M', route(name), data)
}

/** Makes a REQUEST_FNF for a route. */
export function event(streamId: number, name: string, data: Bytes): Buffer {
  return frame(streamId, 'REQUEST_FNF', 'M', route(name), data)
}

/** Makes a REQUEST_STREAM for a route. */
export function stream(streamId: number, name: string, n: number, data: Bytes): Buffer {
  return frame(streamId, 'REQUEST_STREAM', 'M', uint32(n), route(name), data)
}

/** Makes a REQUEST_CHANNEL for a route. */
export function channel(streamId: number, name: string, n: number, data: Bytes, flags = ''): Buffer {
  return frame(streamId, 'REQUEST_CHANNEL', `M${flags}`, uint32(n), route(name), data)
}

/** Makes a PAYLOAD without metadata. */
export function payload(streamId: number, flags: string, data: Bytes = ''): Buffer {
  return frame(streamId, 'PAYLOAD', flags, data)
}

export function requestN(streamId: number, n: number): Buffer {
  return frame(streamId, 'REQUEST_N', '', uint32(n))
}

export function cancel(streamId: number): Buffer {
  return frame(streamId, 'CANCEL', '')
}

export function error(streamId: number, code: number, data: string): Buffer {
  return frame(streamId, 'ERROR', '', uint32(code), data)
}

/** Makes a KEEPALIVE at position 0; `R` asks for an answer. */
export function keepalive(flags: 'R' | '', data: Bytes = ''): Buffer {
  return frame(0, 'KEEPALIVE', flags, Buffer.alloc(8), data)
}

export function lease(timeToLive: number, requests: number): Buffer {
  return frame(0, 'LEASE', '', uint32(timeToLive), uint32(requests))
}

/** Fields of a test's SETUP that differ from those of an ordinary client. */
export interface SetupChange {
  readonly major?: number
  readonly minor?: number
  readonly keepalive?: number
  readonly lifetime?: number
  readonly flags?: number | string
  readonly token?: string
  readonly metadataType?: string
  readonly data?: string
  /** Content of the metadata; its flag and length are added. */
  readonly metadata?: Bytes
  readonly streamId?: number
}

/** Makes a SETUP frame; the test can change every field. */
export function setup(change: SetupChange = {}): Buffer {
  const { major = 1, minor = 0, keepalive: interval = 1000, lifetime = 3000, flags = '', token } = change
  const { metadataType = COMPOSITE, data = 'application/json' } = change
  const bytes = frame(
    change.streamId ?? 0,
    'SETUP',
    flags,
    uint16(major),
    uint16(minor),
    uint32(interval),
    uint32(lifetime),
    ...(token === undefined ? [] : [uint16(token.length), token]),
    Buffer.of(metadataType.length),
    metadataType,
    Buffer.of(data.length),
    data,
    ...(change.metadata === undefined ? [] : [metadata(change.metadata)])
  )
  if (token !== undefined) bytes[8] = (bytes[8] as number) | 0x80
  if (change.metadata !== undefined) bytes[7] = (bytes[7] as number) | 0x01
  return bytes
}

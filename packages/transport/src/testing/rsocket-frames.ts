/** RSocket frames in words, for tests: built from a description, and read into one. Not the code under test. */

const TYPES = [
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

/** A frame: length field, stream id, type, flags, then the body. */
export function frame(
  streamId: number,
  type: string | number,
  flags: number,
  ...body: (string | Uint8Array)[]
): Buffer {
  const number = typeof type === 'number' ? type : TYPES.indexOf(type)
  const content = Buffer.concat(body.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  const header = Buffer.alloc(9)
  header.writeUIntBE(6 + content.length, 0, 3)
  header.writeUInt32BE(streamId, 3)
  header.writeUInt16BE((number << 10) | flags, 7)
  return Buffer.concat([header, content])
}

/** A number of 32 bits. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A number of 24 bits. */
export function uint24(value: number): Buffer {
  const bytes = Buffer.alloc(3)
  bytes.writeUIntBE(value, 0, 3)
  return bytes
}

/** Metadata with its length, as before data. */
export function metadata(...parts: (string | Uint8Array)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  return Buffer.concat([uint24(content.length), content])
}

/** The metadata of a request: its route, as composite metadata. */
export function route(name: string): Buffer {
  return metadata(Buffer.of(0xfe), uint24(name.length + 1), Buffer.of(name.length), name)
}

/** A SETUP frame; every part can be changed. */
export function setup(
  change: {
    major?: number
    keepalive?: number
    lifetime?: number
    flags?: number
    token?: string
    data?: string
    streamId?: number
  } = {}
): Buffer {
  const { major = 1, keepalive = 1000, lifetime = 3000, flags = 0, token, data = 'application/json' } = change
  const composite = 'message/x.rsocket.composite-metadata.v0'
  return frame(
    change.streamId ?? 0,
    'SETUP',
    flags | (token === undefined ? 0 : 0x80),
    Buffer.of(0, major, 0, 0),
    uint32(keepalive),
    uint32(lifetime),
    ...(token === undefined ? [] : [Buffer.of(0, token.length), token]),
    Buffer.of(composite.length),
    composite,
    Buffer.of(data.length),
    data
  )
}

/** A frame in words: `PAYLOAD 1 NC "x"`. Flags by letter: Ignore, Metadata, Follows or Respond, Complete, Next. */
export function describeFrames(bytes: Uint8Array): string[] {
  const buffer = Buffer.from(bytes)
  const described: string[] = []
  for (let at = 0; at < buffer.length; ) {
    const end = at + 3 + buffer.readUIntBE(at, 3)
    const typeAndFlags = buffer.readUInt16BE(at + 7)
    const type = typeAndFlags >> 10
    const flags = [...'IMFCN'].filter((_, index) => typeAndFlags & (0x200 >> index)).join('')
    const parts = [TYPES[type] ?? `0x${type.toString(16)}`, String(buffer.readUInt32BE(at + 3)), flags]
    described.push(
      [...parts, bodyOf(type, buffer.subarray(at + 9, end))].filter((part) => part !== '').join(' ')
    )
    at = end
  }
  return described
}

function bodyOf(type: number, body: Buffer): string {
  switch (TYPES[type]) {
    case 'ERROR':
      return `0x${body.readUInt32BE(0).toString(16)} ${body.subarray(4).toString()}`
    case 'REQUEST_N':
      return String(body.readUInt32BE(0))
    case 'LEASE':
      return `${body.readUInt32BE(0)} ms ${body.readUInt32BE(4)}`
    case 'KEEPALIVE':
      return `${body.readBigUInt64BE(0)} ${body.subarray(8).toString()}`.trim()
    default:
      return body.toString()
  }
}

/** Writes the bytes of both protocols without any of the code under test. */
import { frame as nestFrame } from '../../conformance/harness/wire.ts'

/** Numbers of RSocket's frame types. */
export const Type = {
  SETUP: 1,
  LEASE: 2,
  KEEPALIVE: 3,
  REQUEST_RESPONSE: 4,
  REQUEST_FNF: 5,
  REQUEST_STREAM: 6,
  REQUEST_CHANNEL: 7,
  REQUEST_N: 8,
  CANCEL: 9,
  PAYLOAD: 10,
  ERROR: 11,
  METADATA_PUSH: 12,
  RESUME: 13,
  RESUME_OK: 14,
  EXT: 63
} as const

/** The flags of RSocket's frames. RESPOND and RESUME have the same bit as FOLLOWS, LEASE the same as COMPLETE. */
export const Flag = { IGNORE: 0x200, METADATA: 0x100, FOLLOWS: 0x80, COMPLETE: 0x40, NEXT: 0x20 } as const

type Bytes = string | Uint8Array

/** A number with a fixed count of bytes, the highest byte first. */
export function uint(size: 2 | 3 | 4, value: number): Buffer {
  const bytes = Buffer.alloc(size)
  bytes.writeUIntBE(value, 0, size)
  return bytes
}

/** An RSocket frame with its length field. */
export function frame(streamId: number, type: number, flags: number, ...body: readonly Bytes[]): Buffer {
  const content = Buffer.concat(body.map((part) => Buffer.from(part as string)))
  return Buffer.concat([
    uint(3, 6 + content.length),
    uint(4, streamId),
    uint(2, (type << 10) | flags),
    content
  ])
}

/** Metadata with its length: the route, and further entries. */
export function route(name: string, ...more: readonly Buffer[]): Buffer {
  const routing = Buffer.from([0xfe, 0, 0, name.length + 1, name.length, ...Buffer.from(name)])
  const content = Buffer.concat([routing, ...more])
  return Buffer.concat([uint(3, content.length), content])
}

/** An entry of composite metadata that carries headers. */
export function headers(values: Readonly<Record<string, string>>): Buffer {
  const json = Buffer.from(JSON.stringify(values))
  return Buffer.concat([Buffer.from([0x85]), uint(3, json.length), json])
}

/** The SETUP frame of an ordinary client. */
export function setup(options: { lifetime?: number; token?: string; metadata?: Buffer } = {}): Buffer {
  const { lifetime = 3_600_000, token, metadata } = options
  return frame(
    0,
    Type.SETUP,
    (token === undefined ? 0 : Flag.FOLLOWS) | (metadata === undefined ? 0 : Flag.METADATA),
    uint(2, 1),
    uint(2, 0),
    uint(4, 1_000_000),
    uint(4, lifetime),
    ...(token === undefined ? [] : [uint(2, token.length), token]),
    '\x27message/x.rsocket.composite-metadata.v0',
    '\x10application/json',
    ...(metadata === undefined ? [] : [uint(3, metadata.length), metadata])
  )
}

/** A request or an event, by its type. */
export function call(type: number, streamId: number, name: string, data: unknown, flags = 0): Buffer {
  const hasDemand = type === Type.REQUEST_STREAM || type === Type.REQUEST_CHANNEL
  const demand = hasDemand ? [uint(4, 10)] : []
  return frame(streamId, type, Flag.METADATA | flags, ...demand, route(name), JSON.stringify(data))
}

/** A request in NestJS's protocol. */
export function nestRequest(pattern: string, data: unknown, id = '1'): Buffer {
  return Buffer.from(nestFrame(JSON.stringify({ pattern, data, id })))
}

/** An event in NestJS's protocol. */
export function nestEvent(pattern: string, data: unknown): Buffer {
  return Buffer.from(nestFrame(JSON.stringify({ pattern, data })))
}

/** A frame, and the frames that must be sent before it. */
export interface FrameInContext {
  readonly name: string
  readonly before: Buffer
  readonly frame: Buffer
}

const SIX_KINDS = [
  ['REQUEST_RESPONSE', 'later'],
  ['REQUEST_FNF', 'note'],
  ['REQUEST_STREAM', 'endless'],
  ['REQUEST_CHANNEL', 'sum']
] as const

/**
 * Each type of frame that a client may send, and those that only a server may send, each at a place where it is
 * allowed.
 */
export function rsocketFrames(): FrameInContext[] {
  const open = setup()
  const streaming = Buffer.concat([open, call(Type.REQUEST_STREAM, 1, 'endless', 1)])
  const summing = Buffer.concat([open, call(Type.REQUEST_CHANNEL, 1, 'sum', 1)])
  const position = Buffer.alloc(8)
  const token = 'the token of a connection'
  const resume = [uint(2, 1), uint(2, 0), uint(2, token.length), token, position, position]
  const requests = SIX_KINDS.flatMap(([type, pattern]) => {
    const whole = call(Type[type], 1, pattern, 7)
    const first = call(Type[type], 1, pattern, 'the first half', Flag.FOLLOWS)
    const rest = frame(1, Type.PAYLOAD, Flag.NEXT, 'and the second half of its data')
    const fragmented = Buffer.concat([first, rest])
    return [
      { name: type, before: open, frame: whole },
      { name: `${type} in fragments`, before: open, frame: fragmented }
    ]
  })
  const asked = (type: number, flags: number, ...body: Bytes[]) => frame(1, type, flags, ...body)
  const own = (type: number, flags: number, ...body: Bytes[]) => frame(0, type, flags, ...body)
  return [
    { name: 'SETUP', before: Buffer.alloc(0), frame: open },
    { name: 'SETUP with metadata', before: Buffer.alloc(0), frame: setup({ metadata: headers({ a: 'b' }) }) },
    { name: 'SETUP with a token', before: Buffer.alloc(0), frame: setup({ token }) },
    { name: 'RESUME', before: Buffer.alloc(0), frame: own(Type.RESUME, 0, ...resume) },
    ...requests,
    { name: 'KEEPALIVE', before: open, frame: own(Type.KEEPALIVE, Flag.FOLLOWS, position, 'with data') },
    { name: 'LEASE', before: open, frame: own(Type.LEASE, 0, uint(4, 1000), uint(4, 5)) },
    {
      name: 'METADATA_PUSH',
      before: open,
      frame: own(Type.METADATA_PUSH, Flag.METADATA, headers({ k: 'v' }))
    },
    { name: 'RESUME_OK', before: open, frame: own(Type.RESUME_OK, 0, position) },
    { name: 'EXT', before: open, frame: own(Type.EXT, Flag.IGNORE, uint(4, 1), 'an extension') },
    {
      name: 'ERROR of the connection',
      before: streaming,
      frame: own(Type.ERROR, 0, uint(4, 0x101), 'enough')
    },
    { name: 'REQUEST_N', before: streaming, frame: asked(Type.REQUEST_N, 0, uint(4, 100)) },
    { name: 'CANCEL', before: streaming, frame: asked(Type.CANCEL, 0) },
    { name: 'PAYLOAD', before: summing, frame: asked(Type.PAYLOAD, Flag.NEXT, '5') },
    { name: 'ERROR of a stream', before: summing, frame: asked(Type.ERROR, 0, uint(4, 0x201), 'failed') }
  ]
}

/** The frames of NestJS's protocol that a client sends. */
export function nestFrames(): FrameInContext[] {
  const nothing = Buffer.alloc(0)
  const streaming = nestRequest('endless', 1, 'stream')
  return [
    { name: 'request', before: nothing, frame: nestRequest('later', { text: 'aé€😀' }) },
    { name: 'request after a request', before: streaming, frame: nestRequest('echo', [1, null, 'x']) },
    { name: 'request of a stream', before: nothing, frame: streaming },
    { name: 'event', before: nothing, frame: nestEvent('note', { text: 'é😀' }) }
  ]
}

/** HTTP/2 frames as bytes, also wrong ones, and as text. Written apart from the code that is tested. */
import { nameOfCode } from '../http2/error-code.ts'
import { Flag, FrameType } from '../http2/frame-type.ts'
import { HpackDecoder } from '../http2/hpack/decoder.ts'
import { FieldList } from '../http2/hpack/field.ts'

/** The preface of a client. */
export const PREFACE_BYTES = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/** Makes a frame. @param length the announced length, if it is to be another than that of the payload */
export function frame(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array | readonly number[] = [],
  length = payload.length
): Buffer {
  const header = Buffer.alloc(9)
  header.writeUIntBE(length, 0, 3)
  header[3] = type
  header[4] = flags
  header.writeUInt32BE(streamId, 5)
  return Buffer.concat([header, Uint8Array.from(payload)])
}

/** A number of 32 bits. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** SETTINGS with pairs of identifier and value. */
export function settings(...pairs: readonly (readonly [number, number])[]): Buffer {
  const payload = pairs.map(([identifier, value]) =>
    Buffer.concat([Uint8Array.of(identifier >>> 8, identifier & 0xff), uint32(value)])
  )
  return frame(FrameType.SETTINGS, 0, 0, Buffer.concat(payload))
}

/** Fields in HPACK, each as a literal outside of all tables. Names and values are shorter than 127 bytes. */
export function block(...fields: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string) => [value.length, ...Buffer.from(value, 'latin1')]
  return Buffer.from(fields.flatMap(([name, value]) => [0, ...text(name), ...text(value)]))
}

/** The pseudo fields of a request. */
export const REQUEST = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/a.B/C'],
  [':authority', 'here']
] as const

/** HEADERS with whole fields. */
export function headers(
  streamId: number,
  fields: readonly (readonly [string, string])[] = REQUEST,
  flags: number = Flag.END_STREAM
): Buffer {
  return frame(FrameType.HEADERS, Flag.END_HEADERS | flags, streamId, block(...fields))
}

/** DATA. */
export function data(streamId: number, content: Uint8Array | string, isLast = false): Buffer {
  return frame(FrameType.DATA, isLast ? Flag.END_STREAM : 0, streamId, Buffer.from(content))
}

/** RST_STREAM. */
export const reset = (streamId: number, code: number) =>
  frame(FrameType.RST_STREAM, 0, streamId, uint32(code))
/** WINDOW_UPDATE. */
export const windowUpdate = (streamId: number, increment: number) =>
  frame(FrameType.WINDOW_UPDATE, 0, streamId, uint32(increment))
/** PING with 8 equal bytes. */
export const ping = (byte: number, flags = 0) => frame(FrameType.PING, flags, 0, Buffer.alloc(8, byte))

/** One frame. */
export interface Frame {
  readonly type: number
  readonly flags: number
  readonly streamId: number
  readonly payload: Buffer
}

/** Cuts bytes into frames. The bytes must be whole frames, perhaps behind a preface. */
export function framesIn(bytes: Uint8Array): Frame[] {
  const all = Buffer.from(bytes)
  const frames: Frame[] = []
  let at = all.subarray(0, PREFACE_BYTES.length).equals(PREFACE_BYTES) ? PREFACE_BYTES.length : 0
  while (at < all.length) {
    const end = at + 9 + all.readUIntBE(at, 3)
    frames.push({
      type: all[at + 3] as number,
      flags: all[at + 4] as number,
      streamId: all.readUInt32BE(at + 5),
      payload: all.subarray(at + 9, end)
    })
    at = end
  }
  return frames
}

const NAMES = Object.keys(FrameType)

/** Writes frames in words: `HEADERS 1 end :status=200`, `RST_STREAM 3 CANCEL`. Keeps the table of HPACK between calls. */
export class FrameWords {
  readonly #decoder = new HpackDecoder()

  of(bytes: Uint8Array): string[] {
    return framesIn(bytes).map((one) => this.#words(one))
  }

  #words({ type, flags, streamId, payload }: Frame): string {
    const name = NAMES[type] ?? `type ${type}`
    const end = (flags & Flag.END_STREAM) !== 0 ? ' end' : ''
    switch (type) {
      case FrameType.DATA:
        return `${name} ${streamId}${end} ${payload.toString('latin1')}`.trimEnd()
      case FrameType.HEADERS:
        return `${name} ${streamId}${end} ${this.#fields(payload)}`
      case FrameType.RST_STREAM:
        return `${name} ${streamId} ${nameOfCode(payload.readUInt32BE())}`
      case FrameType.WINDOW_UPDATE:
        return `${name} ${streamId} ${payload.readUInt32BE()}`
      case FrameType.GOAWAY:
        return `${name} ${payload.readUInt32BE()} ${nameOfCode(payload.readUInt32BE(4))}`
      case FrameType.SETTINGS:
        return end === '' ? name : `${name} ack`
      case FrameType.PING:
        return `${name}${end === '' ? '' : ' ack'} ${payload.toString('hex')}`
      default:
        return `${name} ${streamId}`
    }
  }

  #fields(payload: Buffer): string {
    const list = new FieldList(1_000_000, 10_000)
    this.#decoder.decode(payload, 0, payload.length, list)
    return list.fields.map(({ name, value }) => `${name}=${value}`).join(' ')
  }
}

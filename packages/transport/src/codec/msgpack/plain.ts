/** Standard MessagePack, which every peer understands. */
import { Packr } from 'msgpackr/pack'
import { Unpackr } from 'msgpackr/unpack'
import type { Codec, Encoded } from '../codec.ts'
import { readWithExtensions, registerExtensions, withExtension } from './extensions.ts'
import { COMMON, pack, unpack } from './packing.ts'

const MIME_TYPE = 'application/x-msgpack'
const OPTIONS = {
  ...COMMON,
  useRecords: false,
  mapsAsObjects: true,
  variableMapSize: true,
  // 'auto' (missing in msgpackr's types) gives a number if the number is exact, else a bigint.
  int64AsType: 'auto' as 'number'
} as const

const packr = new Packr(OPTIONS)
const unpackr = new Unpackr(OPTIONS)
registerExtensions(packr)

/**
 * The codec of `application/x-msgpack`: objects are sent as maps, bytes as bin, dates as timestamps. A 64-bit integer
 * is read as a number if the number is exact, else as a bigint. Bytes are read as a `Uint8Array`, on Node as a `Buffer`.
 */
export const msgpackCodec: Codec = {
  mimeType: MIME_TYPE,

  encode(value: unknown): Encoded {
    return value === undefined ? '' : pack(packr, MIME_TYPE, value, withExtension)
  },

  decode(buffer, start, end) {
    return readWithExtensions(() => unpack(unpackr, MIME_TYPE, buffer, start, end), readBytes)
  }
}

function readBytes({ buffer, byteOffset, byteLength }: Uint8Array): unknown {
  return unpack(unpackr, MIME_TYPE, new Uint8Array(buffer, byteOffset, byteLength), 0, byteLength)
}

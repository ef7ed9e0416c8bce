/** MessagePack as every peer has it. */
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
  // 'auto' (missing in msgpackr's types) reads a number if it is exact, else a bigint.
  int64AsType: 'auto' as 'number'
} as const

const packr = new Packr(OPTIONS)
const unpackr = new Unpackr(OPTIONS)
registerExtensions(packr)

/**
 * `application/x-msgpack`: objects travel as maps, bytes as bin, dates as timestamps. A 64-bit integer is read as a
 * number if that is exact, else as a bigint; bytes are read as a `Buffer`.
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

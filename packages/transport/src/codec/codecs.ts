/** The codecs of one connection, found by MIME type. */
import { bytesCodec } from './bytes.ts'
import type { Codec, CodecFactory } from './codec.ts'
import { jsonCodec } from './json.ts'
import { accelerate } from './msgpack/packing.ts'
import { msgpackCodec } from './msgpack/plain.ts'
import { MSGPACK_RECORDS, MsgpackRecords } from './msgpack/records.ts'

const FACTORIES = new Map<string, CodecFactory>([
  [jsonCodec.mimeType, () => jsonCodec],
  [bytesCodec.mimeType, () => bytesCodec],
  [msgpackCodec.mimeType, openMsgpack],
  [MSGPACK_RECORDS, openRecords]
])

const SHORT_NAMES = new Map([
  ['json', jsonCodec.mimeType],
  ['bytes', bytesCodec.mimeType],
  ['msgpack', msgpackCodec.mimeType],
  ['msgpack-records', MSGPACK_RECORDS]
])

function openMsgpack(): Codec {
  accelerate()
  return msgpackCodec
}

function openRecords(): Codec {
  accelerate()
  return new MsgpackRecords()
}

/** The short names of codecs, such as `'json'`. */
export const CODEC_NAMES: readonly string[] = [...SHORT_NAMES.keys()]

/** The MIME types that have a codec. */
export function knownMimeTypes(): string[] {
  return [...FACTORIES.keys()]
}

/** Whether there is a codec for a MIME type. */
export function hasCodec(mimeType: string): boolean {
  return FACTORIES.has(mimeType)
}

/** Opens the codec of a MIME type for one connection; `undefined` if the type has none. */
export function openCodec(mimeType: string): Codec | undefined {
  return FACTORIES.get(mimeType)?.()
}

/** The MIME type of a codec's short name. Any other name is returned as it is: a MIME type. */
export function mimeTypeOfCodec(name: string): string {
  return SHORT_NAMES.get(name) ?? name
}

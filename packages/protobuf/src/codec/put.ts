/** Writes checked scalars as bytes, without the tag of their field. */
import { ScalarType } from '@bufbuild/protobuf'
import { WireType } from '@bufbuild/protobuf/wire'
import type { WireWriter } from './wire-writer.ts'

/** Writes one value, in the form that `toScalar` gives it. */
export type Put = (writer: WireWriter, value: never) => void

const MOST_32 = 0xffff_ffffn

/** Small positive integers are the same bytes whatever their type, and are most of the integers of 64 bits. */
function putLong(writer: WireWriter, value: bigint): void {
  if (value >= 0n && value <= MOST_32) writer.varint(Number(value))
  else writer.varint64(value)
}

const PUTS: Readonly<Record<ScalarType, Put>> = {
  [ScalarType.DOUBLE]: (writer, value) => writer.double(value),
  [ScalarType.FLOAT]: (writer, value) => writer.float(value),
  [ScalarType.INT64]: putLong,
  [ScalarType.UINT64]: putLong,
  [ScalarType.INT32]: (writer, value) => writer.int32(value),
  [ScalarType.FIXED64]: (writer, value) => writer.fixed64(value),
  [ScalarType.FIXED32]: (writer, value) => writer.fixed32(value),
  [ScalarType.BOOL]: (writer, value) => writer.bool(value),
  [ScalarType.STRING]: (writer, value) => writer.text(value),
  [ScalarType.BYTES]: (writer, value) => writer.bytes(value),
  [ScalarType.UINT32]: (writer, value) => writer.varint(value),
  [ScalarType.SFIXED32]: (writer, value) => writer.fixed32(value),
  [ScalarType.SFIXED64]: (writer, value) => writer.fixed64(value),
  [ScalarType.SINT32]: (writer, value) => writer.sint32(value),
  [ScalarType.SINT64]: (writer, value) => writer.sint64(value)
}

export function putOf(type: ScalarType): Put {
  return PUTS[type]
}

/** The tag of a field. */
export function tagOf(number: number, type: WireType): number {
  return ((number << 3) | type) >>> 0
}

export function wireTypeOf(type: ScalarType): WireType {
  switch (type) {
    case ScalarType.BYTES:
    case ScalarType.STRING:
      return WireType.LengthDelimited
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32
    default:
      return WireType.Varint
  }
}

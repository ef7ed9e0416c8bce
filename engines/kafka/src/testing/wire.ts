/** The types of Kafka's protocol: how values are read and written on the wire. */
import type { Reader, Writer } from '@platformatic/kafka'

/** A type of the protocol: how a value of it is read and written. */
export interface Type {
  read(from: Reader): unknown
  write(to: Writer, value: unknown): unknown
}

const type = <Value>(
  read: (from: Reader) => unknown,
  write: (to: Writer, value: Value) => unknown
): Type => ({
  read,
  write: (to, value) => write(to, value as Value)
})

export const bool = type<boolean>(
  (from) => from.readBoolean(),
  (to, value) => to.appendBoolean(value)
)
export const int8 = type<number>(
  (from) => from.readInt8(),
  (to, value) => to.appendInt8(value)
)
export const int16 = type<number>(
  (from) => from.readInt16(),
  (to, value) => to.appendInt16(value)
)
export const int32 = type<number>(
  (from) => from.readInt32(),
  (to, value) => to.appendInt32(value)
)
export const int64 = type<bigint>(
  (from) => from.readInt64(),
  (to, value) => to.appendInt64(value)
)
/** A text, or `null`. */
export const text = type<string | null>(
  (from) => from.readNullableString(),
  (to, value) => to.appendString(value)
)
export const uuid = type<string>(
  (from) => from.readUUID(),
  (to, value) => to.appendUUID(value)
)
export const bytes = type<Buffer | null>(
  (from) => from.readNullableBytes(),
  (to, value) => to.appendBytes(value)
)
/** The fields of later versions: each has a number and bytes. */
export const tags = type<[number, Buffer][]>(
  (from) =>
    Array.from({ length: from.readUnsignedVarInt() }, () => {
      const number = from.readUnsignedVarInt()
      const size = from.readUnsignedVarInt()
      const value = from.buffer.slice(from.position, from.position + size)
      from.skip(size)
      return [number, value]
    }),
  (to, value) => {
    to.appendUnsignedVarInt(value.length)
    for (const [number, field] of value)
      to.appendUnsignedVarInt(number).appendUnsignedVarInt(field.length).append(field)
  }
)

/** Values of one type, or `null`. */
export const list = (of: Type): Type =>
  type<unknown[] | null>(
    (from) => from.readNullableArray((one) => of.read(one), true, false),
    (to, value) => to.appendArray(value, (one, item) => void of.write(one, item), true, false)
  )

/** Fields one after the other; its value is the array of their values. `tags` follow, and are none unless they are named. */
export function fields(...types: readonly Type[]): Type {
  const all = types.at(-1) === tags ? types : [...types, tags]
  const named = all === types
  return {
    read: (from) => all.map((one) => one.read(from)).slice(0, types.length),
    write(to, value) {
      const values = named ? (value as unknown[]) : [...(value as unknown[]), []]
      for (const [index, one] of all.entries()) one.write(to, values[index])
    }
  }
}

export const structs = (...types: readonly Type[]): Type => list(fields(...types))

/** A struct, or `null`. */
export function nullable(of: Type): Type {
  return {
    read: (from) => (from.readInt8() === -1 ? null : of.read(from)),
    write(to, value) {
      to.appendInt8(value === null ? -1 : 1)
      if (value !== null) of.write(to, value)
    }
  }
}

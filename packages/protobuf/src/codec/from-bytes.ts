/**
 * Reads bytes as plain objects, without a message of protobuf-es between them, which would take most of the time.
 * It knows what writers of protobuf write. For anything else it throws, and the message is read by protobuf-es: a field
 * that comes twice and must be merged, a field of another type than its own, bytes that are wrong, a value that does not fit.
 */
import { type DescField, type DescMessage, type DescOneof, fromBinary, ScalarType } from '@bufbuild/protobuf'
import { WireType } from '@bufbuild/protobuf/wire'
import { type FieldReader, type FromLocal, type MessageReader, same } from './from-message.ts'
import { setOwn } from './own.ts'
import { tagOf, wireTypeOf } from './put.ts'
import type { Local } from './well-known.ts'
import { RARE, WireReader } from './wire-reader.ts'

/** Reads something that ends at a position, or behind its own length. */
type Read = (reader: WireReader, end: number) => unknown
/** Reads what has come of a field, and adds it to what has come before. */
type Take = (reader: WireReader, before: unknown) => unknown
type Scalar = (reader: WireReader) => unknown

/** The field that a tag stands for. */
interface Tagged {
  /** Its place in the message. */
  readonly at: number
  readonly take: Take
}

/** How deep messages may be in each other, as protobuf-es has it. */
const DEEPEST = 100
/** Fields that the descriptor does not have are not kept. */
export const READING = { readUnknownFields: false }

const SCALARS: Readonly<Record<ScalarType, Scalar>> = {
  [ScalarType.DOUBLE]: (reader) => reader.double(),
  [ScalarType.FLOAT]: (reader) => reader.float(),
  [ScalarType.INT64]: (reader) => reader.varint64(false),
  [ScalarType.UINT64]: (reader) => reader.varint64(true),
  [ScalarType.INT32]: (reader) => reader.varint() | 0,
  [ScalarType.FIXED64]: (reader) => reader.fixed64(),
  [ScalarType.FIXED32]: (reader) => reader.fixed32(),
  [ScalarType.BOOL]: (reader) => reader.bool(),
  [ScalarType.STRING]: (reader) => reader.text(),
  [ScalarType.BYTES]: (reader) => reader.bytes(),
  [ScalarType.UINT32]: (reader) => reader.varint(),
  [ScalarType.SFIXED32]: (reader) => reader.sfixed32(),
  [ScalarType.SFIXED64]: (reader) => reader.sfixed64(),
  [ScalarType.SINT32]: (reader) => reader.sint32(),
  [ScalarType.SINT64]: (reader) => reader.sint64()
}

/** The reader of the last message; `undefined` while it is in use: a shape that is a function may read another message. */
let spare: WireReader | undefined

/** Reads messages of all types of some files. */
export class ByteReaders {
  readonly #messages: MessageReader
  readonly #readers = new Map<DescMessage, Read>()

  constructor(messages: MessageReader) {
    this.#messages = messages
  }

  /** The function that reads a message. It throws if the bytes must be read by protobuf-es. */
  of(desc: DescMessage): (bytes: Uint8Array) => unknown {
    const read = this.#reader(desc)
    return (bytes) => {
      const reader = spare ?? new WireReader()
      spare = undefined
      reader.begin(bytes)
      try {
        return read(reader, bytes.length)
      } finally {
        reader.done()
        spare = reader
      }
    }
  }

  #reader(desc: DescMessage): Read {
    const known = this.#readers.get(desc)
    if (known !== undefined) return known
    // A message may contain itself, so the function is known before its fields are.
    let read: Read | undefined
    this.#readers.set(desc, (reader, end) => (read as Read)(reader, end))
    read = this.#compile(desc)
    this.#readers.set(desc, read)
    return read
  }

  #compile(desc: DescMessage): Read {
    if (!this.#messages.isObject(desc) || desc.fields.some(isGroup)) return this.#special(desc)
    const fields = this.#messages.fields(desc, (field) => this.#value(field))
    const tags = new Map(desc.fields.flatMap((field, at) => this.#tags(field, at)))
    const numbers = new Set(desc.fields.map(({ number }) => number))
    const oneofs = desc.oneofs.filter(({ fields: { length } }) => length > 1).map(placesIn(desc))
    return (reader, end) => {
      const found: unknown[] = []
      if (++reader.depth > DEEPEST) throw RARE
      while (reader.at < end) {
        const tag = reader.tag()
        const field = tags.get(tag)
        if (field !== undefined) found[field.at] = field.take(reader, found[field.at])
        else if (tag >>> 3 !== 0 && !numbers.has(tag >>> 3)) reader.skip(tag)
        else throw RARE
      }
      if (reader.at !== end) throw RARE
      for (const places of oneofs) onlyOne(found, places)
      reader.depth--
      return made(fields, found)
    }
  }

  /** A message with a form of its own. */
  #special(desc: DescMessage): Read {
    const read = this.#messages.of(desc)
    return (reader, end) => {
      const value = read(fromBinary(desc, reader.part(end), READING) as unknown as Local)
      // It would look as if the field were missing.
      if (value === undefined) throw RARE
      return value
    }
  }

  /** Makes the value that users get of what was read. */
  #value(field: DescField): FromLocal {
    return field.message === undefined ? this.#messages.value(field) : same
  }

  /** The tags of a field. */
  #tags(field: DescField, at: number): [number, Tagged][] {
    const { number } = field
    const delimited = tagOf(number, WireType.LengthDelimited)
    if (field.fieldKind === 'map') return [[delimited, { at, take: this.#entry(field) }]]
    const isList = field.fieldKind === 'list'
    if (field.message !== undefined) {
      const read = this.#delimited(field.message)
      return [[delimited, { at, take: isList ? each(read) : once(read) }]]
    }
    const scalar = scalarOf(field)
    const type = wireTypeOf(field.scalar ?? ScalarType.INT32)
    const tags: [number, Tagged][] = [[tagOf(number, type), { at, take: isList ? each(scalar) : scalar }]]
    // Readers take both forms of a list, whatever its file says.
    if (isList && type !== WireType.LengthDelimited) tags.push([delimited, { at, take: packed(scalar) }])
    return tags
  }

  /** A message behind its length. */
  #delimited(desc: DescMessage): Scalar {
    const read = this.#reader(desc)
    return (reader) => read(reader, reader.end())
  }

  /** An entry of a map: its key and its value, in this order. */
  #entry(field: DescField & { readonly fieldKind: 'map' }): Take {
    const key = SCALARS[field.mapKey]
    const keyTag = tagOf(1, wireTypeOf(field.mapKey))
    const isMessage = field.mapKind === 'message'
    const value = isMessage ? this.#delimited(field.message) : scalarOf(field)
    const type = isMessage ? WireType.LengthDelimited : wireTypeOf(field.scalar ?? ScalarType.INT32)
    const valueTag = tagOf(2, type)
    return (reader, before) => {
      const entries = (before ?? {}) as Record<string, unknown>
      const end = reader.end()
      if (reader.tag() !== keyTag) throw RARE
      const name = String(key(reader))
      if (reader.tag() !== valueTag) throw RARE
      setOwn(entries, name, value(reader))
      if (reader.at !== end) throw RARE
      return entries
    }
  }
}

function made(fields: readonly FieldReader[], found: readonly unknown[]): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (let at = 0; at < fields.length; at++) (fields[at] as FieldReader).add(object, found[at])
  return object
}

/** Proto2's groups, which have another form. */
function isGroup(field: DescField): boolean {
  return (field as { readonly delimitedEncoding?: boolean }).delimitedEncoding === true
}

function scalarOf({ enum: desc, scalar }: DescField): Scalar {
  const read = SCALARS[scalar ?? ScalarType.INT32]
  if (desc === undefined || desc.open) return read
  // Of a closed enum, a number that it does not have is no value.
  return (reader) => {
    const number = read(reader) as number
    if (desc.value[number] === undefined) throw RARE
    return number
  }
}

function each(read: Scalar): Take {
  return (reader, before) => {
    const items = (before ?? []) as unknown[]
    items.push(read(reader))
    return items
  }
}

function packed(read: Scalar): Take {
  return (reader, before) => {
    const items = (before ?? []) as unknown[]
    const end = reader.end()
    while (reader.at < end) items.push(read(reader))
    if (reader.at !== end) throw RARE
    return items
  }
}

/** A message that comes twice is merged. */
function once(read: Scalar): Take {
  return (reader, before) => {
    if (before !== undefined) throw RARE
    return read(reader)
  }
}

/** The places of the fields of a oneof. */
function placesIn({ fields }: DescMessage): (oneof: DescOneof) => readonly number[] {
  return (oneof) => oneof.fields.map((field) => fields.indexOf(field))
}

/** The last one of several fields counts, and nobody knows any more which it is. */
function onlyOne(found: readonly unknown[], places: readonly number[]): void {
  let count = 0
  for (const place of places) if (found[place] !== undefined) count++
  if (count > 1) throw RARE
}

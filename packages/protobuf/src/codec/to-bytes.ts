/**
 * Writes plain objects as bytes, without a message of protobuf-es between them, which would take more than half of the time.
 * Only messages with forms of their own go that way. All that is known of a message type is worked out once.
 */
import { type DescField, type DescMessage, ScalarType, toBinary } from '@bufbuild/protobuf'
import { WireType } from '@bufbuild/protobuf/wire'
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt'
import type { Shapes } from '../options/shapes.ts'
import { type FieldSource, readFrom, sourceOf } from './field-source.ts'
import { LONG } from './integers.ts'
import { entriesOf, keyOf } from './keys.ts'
import { Misfit, misfit, stepTo, within } from './misfit.ts'
import { type Put, putOf, tagOf, wireTypeOf } from './put.ts'
import type { ToLocal } from './scalars.ts'
import type { MessageWriter } from './to-message.ts'
import { WireWriter } from './wire-writer.ts'

type Write = (writer: WireWriter, value: unknown) => void

/** One field of a message. */
interface FieldWriter extends FieldSource {
  /** The oneof of the field. */
  readonly oneof: DescField['oneof']
  readonly write: Write
}

/** Buffers that are larger than this are not kept for the next message. */
const MOST_KEPT = 65_536
const MOST_32 = 0xffff_ffff

/** The writer of the last message; `undefined` while it is in use: a getter of a value may encode another message. */
let spare: WireWriter | undefined

/**
 * Writes a message. What is returned is valid until the next message is written.
 * @param room bytes to leave free in front of the message
 */
export function writeMessage(write: Write, value: unknown, room = 0): WireWriter {
  const writer = spare ?? new WireWriter()
  spare = undefined
  writer.begin(room)
  write(writer, value)
  if (writer.length <= MOST_KEPT) spare = writer
  return writer
}

/** Writes messages of all types of some files. */
export class ByteMessages {
  readonly #shapes: Shapes
  readonly #messages: MessageWriter
  readonly #writers = new Map<DescMessage, Write>()

  constructor(shapes: Shapes, messages: MessageWriter) {
    this.#shapes = shapes
    this.#messages = messages
  }

  /** The function that writes a value as a message. It throws a `Misfit` if the value does not fit. */
  of(desc: DescMessage): Write {
    const known = this.#writers.get(desc)
    if (known !== undefined) return known
    // A message may contain itself, so the function is known before its fields are.
    let write: Write | undefined
    this.#writers.set(desc, (writer, value) => (write as Write)(writer, value))
    write = this.#compile(desc)
    this.#writers.set(desc, write)
    return write
  }

  #compile(desc: DescMessage): Write {
    if (!this.#messages.isObject(desc) || desc.fields.some(isGroup)) {
      const message = this.#messages.of(desc)
      return (writer, value) => writer.raw(toBinary(desc, message(value) as never))
    }
    const fields = [...desc.fields]
      .sort((one, other) => one.number - other.number)
      .map((field) => ({ ...sourceOf(field, this.#shapes), oneof: field.oneof, write: this.#field(field) }))
    return desc.oneofs.some(({ fields: { length } }) => length > 1)
      ? withOneofs(desc, fields)
      : plain(desc, fields)
  }

  #field(field: DescField): Write {
    if (field.fieldKind === 'list') return this.#list(field)
    if (field.fieldKind === 'map') return this.#map(field)
    if (field.fieldKind === 'message') return this.#message(field.message, field.number)
    const { convert, put, type } = this.#scalar(field)
    const tag = tagOf(field.number, wireTypeOf(type))
    const isImplicit = field.oneof === undefined && field.presence === FeatureSet_FieldPresence.IMPLICIT
    const write: Write = isImplicit ? implicit(field, convert, put, tag) : explicit(convert, put, tag)
    if (type !== ScalarType.INT64 && type !== ScalarType.UINT64) return write
    // Without a bigint, for most of them.
    return (writer, value) => {
      if (typeof value !== 'number' || !(value > 0 && value <= MOST_32 && Number.isInteger(value)))
        return write(writer, value)
      writer.varint(tag)
      writer.varint(value)
    }
  }

  /** A scalar or enum of a field, or of an item of its list or map. */
  #scalar(field: DescField): { readonly convert: ToLocal; readonly put: Put; readonly type: ScalarType } {
    const type = field.scalar ?? ScalarType.INT32
    return { convert: this.#messages.value(field), put: putOf(type), type }
  }

  #message(desc: DescMessage, number: number): Write {
    const write = this.of(desc)
    const tag = tagOf(number, WireType.LengthDelimited)
    return (writer, value) => {
      writer.varint(tag)
      const start = writer.fork()
      write(writer, value)
      writer.join(start)
    }
  }

  #list(field: DescField & { readonly fieldKind: 'list' }): Write {
    if (field.listKind === 'message') return eachOf(this.#message(field.message, field.number))
    const { convert, put, type } = this.#scalar(field)
    if (!field.packed) return eachOf(explicit(convert, put, tagOf(field.number, wireTypeOf(type))))
    const each = eachOf((writer, value) => put(writer, convert(value) as never))
    const tag = tagOf(field.number, WireType.LengthDelimited)
    return (writer, value) => {
      if (Array.isArray(value) && value.length === 0) return
      writer.varint(tag)
      const start = writer.fork()
      each(writer, value)
      writer.join(start)
    }
  }

  #map(field: DescField & { readonly fieldKind: 'map' }): Write {
    const tag = tagOf(field.number, WireType.LengthDelimited)
    const putKey = keyWriter(field.mapKey)
    let writeValue: Write
    if (field.mapKind === 'message') writeValue = this.#message(field.message, 2)
    else {
      const { convert, put, type } = this.#scalar(field)
      writeValue = explicit(convert, put, tagOf(2, wireTypeOf(type)))
    }
    return (writer, value) => {
      for (const [name, one] of entriesOf(value)) {
        if (one === undefined) continue
        writer.varint(tag)
        const start = writer.fork()
        try {
          putKey(writer, name)
          writeValue(writer, one)
        } catch (error) {
          throw within(error, stepTo(name))
        }
        writer.join(start)
      }
    }
  }
}

/** Proto2's groups, which have another form. */
function isGroup(field: DescField): boolean {
  return (field as { readonly delimitedEncoding?: boolean }).delimitedEncoding === true
}

function plain(desc: DescMessage, fields: readonly FieldWriter[]): Write {
  return (writer, given) => {
    const value = objectOf(desc, given)
    let at = 0
    try {
      for (; at < fields.length; at++) {
        const field = fields[at] as FieldWriter
        const one = readFrom(value, field)
        if (one !== undefined && (one !== null || field.takesNull)) field.write(writer, one)
        else if (field.isRequired) throw new Misfit('is required, but missing')
      }
    } catch (error) {
      throw within(error, stepTo((fields[at] as FieldWriter).name))
    }
  }
}

/** A message with fields of which only one may be set. */
function withOneofs(desc: DescMessage, fields: readonly FieldWriter[]): Write {
  const groups = new Map(desc.oneofs.map((oneof, index) => [oneof, index]))
  const places = fields.map(({ oneof }) => (oneof === undefined ? -1 : (groups.get(oneof) as number)))
  return (writer, given) => {
    const value = objectOf(desc, given)
    const set: (string | undefined)[] = []
    let at = 0
    try {
      for (; at < fields.length; at++) {
        const field = fields[at] as FieldWriter
        const one = readFrom(value, field)
        if (one !== undefined && (one !== null || field.takesNull)) {
          const place = places[at] as number
          if (place !== -1) {
            const before = set[place]
            if (before !== undefined)
              throw new Misfit(
                `is set beside '${before}', but only one of the oneof '${field.oneof?.name}' can be`
              )
            set[place] = field.name
          }
          field.write(writer, one)
        } else if (field.isRequired) throw new Misfit('is required, but missing')
      }
    } catch (error) {
      throw within(error, stepTo((fields[at] as FieldWriter).name))
    }
  }
}

function objectOf({ typeName }: DescMessage, given: unknown): Record<string, unknown> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw misfit(`an object (${typeName})`, given)
  return given as Record<string, unknown>
}

/** A field that is there if it has a value. */
function explicit(convert: ToLocal, put: Put, tag: number): Write {
  return (writer, value) => {
    const local = convert(value)
    writer.varint(tag)
    put(writer, local as never)
  }
}

/** A field that always has a value: its default is not written. */
function implicit(field: DescField, convert: ToLocal, put: Put, tag: number): Write {
  const zero = zeroOf(field)
  const isBytes = field.scalar === ScalarType.BYTES
  return (writer, value) => {
    const local = convert(value)
    // -0 is not the default.
    if (isBytes ? (local as Uint8Array).length === 0 : Object.is(local, zero)) return
    writer.varint(tag)
    put(writer, local as never)
  }
}

function zeroOf({ enum: desc, scalar }: DescField): unknown {
  if (desc !== undefined) return desc.values[0]?.number ?? 0
  if (scalar === ScalarType.STRING) return ''
  if (scalar === ScalarType.BOOL) return false
  return LONG.has(scalar as ScalarType) ? 0n : 0
}

function eachOf(write: Write): Write {
  return (writer, value) => {
    if (!Array.isArray(value)) throw misfit('an array', value)
    let at = 0
    try {
      for (; at < value.length; at++) write(writer, value[at])
    } catch (error) {
      throw within(error, `[${at}]`)
    }
  }
}

/** Writes the key of an entry. */
function keyWriter(type: ScalarType): (writer: WireWriter, name: string) => void {
  const key = keyOf(type)
  const put = putOf(type)
  const tag = tagOf(1, wireTypeOf(type))
  const convert: (name: string) => unknown =
    type === ScalarType.STRING
      ? (name) => name
      : type === ScalarType.BOOL
        ? (name) => name === 'true'
        : LONG.has(type)
          ? BigInt
          : Number
  return (writer, name) => {
    const local = convert(key(name))
    writer.varint(tag)
    put(writer, local as never)
  }
}

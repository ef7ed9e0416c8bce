/** Makes plain objects of protobuf-es's messages. All that is known of a message type is worked out once. */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  type FileRegistry,
  fromBinary,
  ScalarType
} from '@bufbuild/protobuf'
import { scalarZeroValue } from '@bufbuild/protobuf/reflect'
import { base64Encode } from '@bufbuild/protobuf/wire'
import { FeatureSet_FieldPresence, FieldOptions_JSType, isWrapperDesc } from '@bufbuild/protobuf/wkt'
import type { Shapes } from '../options/shapes.ts'
import { dropsDefaults, isImplicit, isOptional } from '../presence.ts'
import type { Hints } from './hints.ts'
import { fromLong, LONG } from './integers.ts'
import { toStruct } from './json-values.ts'
import { stepTo, within } from './misfit.ts'
import { fieldName, oneofName } from './names.ts'
import { setOwn } from './own.ts'
import { ANY, isUnwrapped, type Local, wellKnownReader } from './well-known.ts'

type Read = (message: Local) => unknown
/** Makes the value that a user gets. @throws {Misfit} */
export type FromLocal = (local: unknown) => unknown
/** Adds the value of a field to the object that is made; `undefined`: the message does not have the field. */
type Add = (made: Record<string, unknown>, local: unknown) => void

/** One field of a message. */
export interface FieldReader {
  readonly name: string
  readonly add: Add
}

/** A field that is neither a list nor a map. */
type SingleField = Exclude<DescField, { readonly fieldKind: 'list' } | { readonly fieldKind: 'map' }>

/** Reads messages of all types of some files. */
export class MessageReader {
  readonly #shapes: Shapes
  readonly #registry: FileRegistry
  readonly #hints: Hints
  readonly #readers = new Map<DescMessage, Read>()

  constructor(shapes: Shapes, registry: FileRegistry, hints: Hints) {
    this.#shapes = shapes
    this.#registry = registry
    this.#hints = hints
  }

  /** The function that makes a value of a message. @throws {Misfit} the shape cannot hold a value of the message */
  of(desc: DescMessage): Read {
    const known = this.#readers.get(desc)
    if (known !== undefined) return known
    // A message may contain itself, so the function is known before its fields are.
    let read: Read | undefined
    this.#readers.set(desc, (message) => (read as Read)(message))
    read = this.#compile(desc)
    this.#readers.set(desc, read)
    return read
  }

  #compile(desc: DescMessage): Read {
    const special = wellKnownReader(desc, this.#shapes) as Read | undefined
    if (special !== undefined) return special
    if (desc.typeName === ANY && this.#shapes.wellKnown === 'values') return (message) => this.#any(message)
    if (isUnwrapped(desc, this.#shapes)) {
      const [field] = desc.fields as [DescField]
      const one = this.value(field)
      return (message) => one(message[field.localName])
    }
    const fields = this.fields(desc, (field) => this.value(field))
    const finds = desc.fields.map(finder)
    if (this.#hints.wrappers.has(desc.typeName))
      return wrapperReader(fields[0] as FieldReader, finds[0] as Read)
    return (message) => {
      const made: Record<string, unknown> = {}
      let at = 0
      try {
        for (; at < fields.length; at++) (fields[at] as FieldReader).add(made, (finds[at] as Read)(message))
      } catch (error) {
        throw within(error, stepTo((fields[at] as FieldReader).name))
      }
      return made
    }
  }

  /** Whether values of a message are objects with its fields, and no value has a form of its own. */
  isObject(desc: DescMessage): boolean {
    return (
      wellKnownReader(desc, this.#shapes) === undefined &&
      !(desc.typeName === ANY && this.#shapes.wellKnown === 'values') &&
      !isUnwrapped(desc, this.#shapes) &&
      !this.#hints.wrappers.has(desc.typeName)
    )
  }

  /** The fields of a message in order. @param read makes the reader of one value of a field, or of an item of it */
  fields(desc: DescMessage, read: (field: DescField) => FromLocal): FieldReader[] {
    return desc.fields.map((field) => {
      const name = fieldName(field, this.#shapes)
      return { name, add: this.#field(field, name, read(field)) }
    })
  }

  #any({ typeUrl, value }: Local): Record<string, unknown> {
    const url = String(typeUrl)
    const type = this.#registry.getMessage(url.slice(url.lastIndexOf('/') + 1))
    if (type === undefined) return { '@type': url, value }
    const read = this.of(type)(fromBinary(type, value as Uint8Array) as unknown as Local)
    const isValue = wellKnownReader(type, this.#shapes) !== undefined || isUnwrapped(type, this.#shapes)
    return isValue ? { '@type': url, value: read } : { '@type': url, ...(read as object) }
  }

  #field(field: DescField, name: string, one: FromLocal): Add {
    const { defaults } = this.#shapes
    if (field.fieldKind === 'list')
      return (made, items) => {
        const read = readList((items as unknown[] | undefined) ?? [], one)
        if (read.length > 0 || defaults !== 'none') setOwn(made, name, read)
      }
    if (field.fieldKind === 'map')
      return (made, local) => {
        const entries = readMap((local as Record<string, unknown> | undefined) ?? {}, one)
        if (defaults !== 'none' || Object.keys(entries).length > 0) setOwn(made, name, entries)
      }
    if (field.oneof !== undefined) return this.#inOneof(field.oneof, name, one)
    return dropsDefaults(field) ? this.#implicit(field, name, one) : this.#explicit(field, name, one)
  }

  /** A field that always has a value; what was not sent is its default. */
  #implicit(field: SingleField, name: string, one: FromLocal): Add {
    const zero = zeroOf(field)
    if (field.enum !== undefined && this.#hints.literals.has(field.enum.typeName))
      return (made, local) => {
        const literal = one(local ?? zero)
        if (literal !== undefined) setOwn(made, name, literal)
      }
    if (this.#shapes.defaults === 'all' || this.#shapes.defaults === 'nulls')
      return (made, local) => setOwn(made, name, one(local ?? zero))
    return (made, local) => {
      if (local !== undefined && !isDefault(local, zero)) setOwn(made, name, one(local))
    }
  }

  /** A field that may be missing. */
  #explicit(field: SingleField, name: string, one: FromLocal): Add {
    const absent = this.#absent(field, one)
    return (made, local) => {
      if (local !== undefined) setOwn(made, name, one(local))
      else if (absent !== undefined) setOwn(made, name, absent())
    }
  }

  /** The value of a missing field; `undefined` if it is left out. */
  #absent(field: SingleField, one: FromLocal): (() => unknown) | undefined {
    if (this.#hints.nullable.has(`${field.parent.typeName}.${field.name}`)) return () => null
    const { defaults } = this.#shapes
    const isDefault = isImplicit(field) && defaults === 'all'
    if (!isDefault && (defaults !== 'nulls' || isOptional(field))) return undefined
    if (field.fieldKind === 'message') return () => null
    const zero = field.getDefaultValue() ?? zeroOf(field)
    return () => one(zero)
  }

  #inOneof(oneof: DescOneof, name: string, one: FromLocal): Add {
    const named = this.#shapes.oneofs === 'named' ? oneofName(oneof, this.#shapes) : undefined
    return (made, local) => {
      if (local === undefined) return
      setOwn(made, name, one(local))
      if (named !== undefined) setOwn(made, named, name)
    }
  }

  /** One value of a field, or of an item of its list or map. */
  value(field: DescField): FromLocal {
    if (field.enum !== undefined) return this.#enum(field.enum)
    if (field.scalar === undefined) return this.#message(field)
    const { int64, bytes } = this.#shapes
    if (field.scalar === ScalarType.BYTES) {
      if (bytes === 'base64') return (value) => base64Encode(value as Uint8Array)
      // A copy, because protobuf-es has a part of the bytes that it reads, which the transport may use again.
      const copy = (value: unknown) => new Uint8Array(value as Uint8Array)
      return typeof bytes === 'function' ? (value) => bytes(copy(value)) : copy
    }
    const isUnsigned = LONG.get(field.scalar)
    return isUnsigned === undefined ? same : (fromLong(int64Of(field) ?? int64, isUnsigned) as FromLocal)
  }

  #enum(desc: DescEnum): FromLocal {
    const literals = this.#hints.literals.get(desc.typeName)
    if (literals !== undefined)
      return (value) => literals.get(value as number) ?? (value === 0 ? undefined : value)
    if (this.#shapes.enums === 'number') return same
    return (value) => desc.value[value as number]?.name ?? value
  }

  /** See `inField` of `to-message.ts` for the two exceptions of protobuf-es. */
  #message(field: DescField): FromLocal {
    const desc = field.message as DescMessage
    const read = this.of(desc)
    if (field.fieldKind === 'message' && field.oneof === undefined && isWrapperDesc(desc)) {
      const one = this.value(desc.fields[0] as DescField)
      return isUnwrapped(desc, this.#shapes) ? one : (value) => read({ $typeName: desc.typeName, value })
    }
    if (desc.typeName === 'google.protobuf.Struct' && field.parent.typeName !== 'google.protobuf.Value')
      return this.#shapes.wellKnown === 'values' ? same : (value) => read(toStruct(value) as never)
    return read as FromLocal
  }
}

/** A message that stands for its only field. */
function wrapperReader({ name, add }: FieldReader, find: Read): Read {
  return (message) => {
    const made: Record<string, unknown> = {}
    add(made, find(message))
    return made[name]
  }
}

/** Finds what protobuf-es has of a field; `undefined` if the message does not have it. */
function finder({ oneof, localName, presence }: DescField): Read {
  if (oneof !== undefined)
    return (message) => {
      const set = message[oneof.localName] as { readonly case?: string; readonly value?: unknown }
      return set.case === localName ? set.value : undefined
    }
  // The defaults of other fields are in their prototype.
  if (presence === FeatureSet_FieldPresence.IMPLICIT) return (message) => message[localName]
  return (message) => (Object.hasOwn(message, localName) ? message[localName] : undefined)
}

/** A value that protobuf-es has as users get it. */
export function same(value: unknown): unknown {
  return value
}

/** The form that the option `jstype` of a field asks for. */
export function int64Of({ proto }: DescField): Shapes['int64'] | undefined {
  switch (proto.options?.jstype) {
    case FieldOptions_JSType.JS_STRING:
      return 'string'
    case FieldOptions_JSType.JS_NUMBER:
      return 'number'
    default:
      return undefined
  }
}

function zeroOf(field: DescField): unknown {
  if (field.enum !== undefined) return field.enum.values[0]?.number ?? 0
  return field.scalar === undefined ? undefined : scalarZeroValue(field.scalar, false)
}

function isDefault(value: unknown, zero: unknown): boolean {
  if (value instanceof Uint8Array) return value.length === 0
  // With `jstype = JS_STRING` protobuf-es has texts of 64-bit integers.
  // The reader of bytes has numbers of small ones.
  return Object.is(value, zero) || ((value === '0' || value === 0) && zero === 0n)
}

function readList(items: readonly unknown[], item: FromLocal): unknown[] {
  if (item === same) return items as unknown[]
  const made: unknown[] = []
  try {
    for (const one of items) made.push(item(one))
  } catch (error) {
    throw within(error, `[${made.length}]`)
  }
  return made
}

function readMap(entries: Readonly<Record<string, unknown>>, item: FromLocal): Record<string, unknown> {
  const made: Record<string, unknown> = {}
  for (const key of Object.keys(entries))
    try {
      setOwn(made, key, item(entries[key]))
    } catch (error) {
      throw within(error, stepTo(key))
    }
  return made
}

/** Makes messages of protobuf-es of plain objects. All that is known of a message type is worked out once. */
import { create, type DescField, type DescMessage, type FileRegistry, toBinary } from '@bufbuild/protobuf'
import { isWrapperDesc } from '@bufbuild/protobuf/wkt'
import type { Shapes } from '../options/shapes.ts'
import { type FieldSource, readFrom, sourceOf } from './field-source.ts'
import type { Hints } from './hints.ts'
import { fromStruct } from './json-values.ts'
import { entriesOf, keyOf } from './keys.ts'
import { Misfit, misfit, stepTo, within } from './misfit.ts'
import { setOwn } from './own.ts'
import { bytesOf, type ToLocal, toEnum, toScalar } from './scalars.ts'
import { ANY, type Local, wellKnownWriter } from './well-known.ts'

type Write = (value: unknown) => Local

/** One field of a message: where its value is, and how it is set. */
interface FieldWriter extends FieldSource {
  set(message: Record<string, unknown>, value: unknown): void
}

/** Writes messages of all types of some files. */
export class MessageWriter {
  readonly #shapes: Shapes
  readonly #registry: FileRegistry
  readonly #hints: Hints
  readonly #writers = new Map<DescMessage, Write>()

  constructor(shapes: Shapes, registry: FileRegistry, hints: Hints) {
    this.#shapes = shapes
    this.#registry = registry
    this.#hints = hints
  }

  /** The function that makes a message of a value. @throws {Misfit} the value does not fit */
  of(desc: DescMessage): Write {
    const known = this.#writers.get(desc)
    if (known !== undefined) return known
    // A message may contain itself, so the function is known before its fields are.
    let write: Write | undefined
    this.#writers.set(desc, (value) => (write as Write)(value))
    write = this.#compile(desc)
    this.#writers.set(desc, write)
    return write
  }

  #compile(desc: DescMessage): Write {
    const special = wellKnownWriter(desc, this.#shapes) as Write | undefined
    if (special !== undefined) return special
    const isPlain = this.#shapes.wellKnown === 'messages'
    if (desc.typeName === ANY && !isPlain) return (value) => this.#any(desc, value)
    const fields = desc.fields.map((field) => this.#field(field))
    if (this.#hints.wrappers.has(desc.typeName))
      return wrapperWriter(desc, fields[0] as FieldWriter, this.#hints.nullable.has(`${desc.typeName}.value`))
    const write = objectWriter(desc, fields)
    if (!isWrapperDesc(desc)) return write
    const wrap = wrapperWriter(desc, fields[0] as FieldWriter, false)
    return (given) => (isWrapped(given) ? write(given) : wrap(given))
  }

  /** `Any`: the message within, with its type as `@type`. */
  #any(desc: DescMessage, value: unknown): Local {
    const { '@type': url, ...rest } = Object(value) as Record<string, unknown>
    if (typeof url !== 'string') {
      if ('typeUrl' in Object(value)) return create(desc, value as never) as unknown as Local
      throw misfit("an object with the type of its message as '@type'", value)
    }
    const type = this.#registry.getMessage(url.slice(url.lastIndexOf('/') + 1))
    const typeUrl = url.includes('/') ? url : `type.googleapis.com/${url}`
    if (type === undefined) {
      if (!(rest['value'] instanceof Uint8Array))
        throw new Misfit(`has the type '${url}', which is in none of the files; give its bytes as 'value'`)
      return create(desc, { typeUrl, value: bytesOf(rest['value']) } as never) as unknown as Local
    }
    const isValue = wellKnownWriter(type, this.#shapes) !== undefined || isWrapperDesc(type)
    const message = this.of(type)(isValue && 'value' in rest ? rest['value'] : rest)
    return create(desc, { typeUrl, value: toBinary(type, message as never) } as never) as unknown as Local
  }

  /** Whether values of a message are objects with its fields, and no value has a form of its own. */
  isObject(desc: DescMessage): boolean {
    return (
      wellKnownWriter(desc, this.#shapes) === undefined &&
      !(desc.typeName === ANY && this.#shapes.wellKnown !== 'messages') &&
      !this.#hints.wrappers.has(desc.typeName) &&
      !isWrapperDesc(desc)
    )
  }

  #field(field: DescField): FieldWriter {
    return { ...sourceOf(field, this.#shapes), set: this.#setter(field) }
  }

  #setter(field: DescField): FieldWriter['set'] {
    const { localName } = field
    if (field.fieldKind === 'list') {
      const item = this.value(field)
      return (message, value) => {
        message[localName] = listOf(value, item)
      }
    }
    if (field.fieldKind === 'map') {
      const item = this.value(field)
      const key = keyOf(field.mapKey)
      return (message, value) => {
        message[localName] = mapOf(value, key, item)
      }
    }
    const one = this.value(field)
    const { oneof } = field
    if (oneof === undefined)
      return (message, value) => {
        message[localName] = one(value)
      }
    const group = oneof.localName
    return (message, value) => {
      const { case: set } = message[group] as { readonly case?: string }
      if (set !== undefined)
        throw new Misfit(`is set beside '${set}', but only one of the oneof '${oneof.name}' can be`)
      message[group] = { case: localName, value: one(value) }
    }
  }

  /** Makes one value of a field, or of an item of its list or map. */
  value(field: DescField): ToLocal {
    if (field.enum !== undefined) return toEnum(field.enum, this.#hints.literals.get(field.enum.typeName))
    if (field.scalar !== undefined) return toScalar(field.scalar, this.#shapes.strict)
    const write = this.of(field.message)
    return inField(field, write)
  }
}

/**
 * protobuf-es has two exceptions for messages in fields: a single wrapper outside a oneof is the value within, and a
 * `Struct` is JSON, except within a `Value`.
 */
function inField(field: DescField, write: Write): ToLocal {
  const message = field.message as DescMessage
  if (field.fieldKind === 'message' && field.oneof === undefined && isWrapperDesc(message))
    return (value) => write(value)['value']
  if (message.typeName === 'google.protobuf.Struct' && field.parent.typeName !== 'google.protobuf.Value')
    return (value) => fromStruct(write(value) as never)
  return write
}

/** Whether a wrapper is given as the message that it is. */
function isWrapped(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  return Object.keys(value).every((key) => key === 'value')
}

/**
 * A message that stands for its only field. The step to that field is in no path.
 * @param takesNothing whether the field may be left out
 */
function wrapperWriter(desc: DescMessage, field: FieldWriter, takesNothing: boolean): Write {
  return (value) => {
    const message = create(desc) as Record<string, unknown>
    const isNothing = value === undefined || value === null
    if (!(isNothing && takesNothing)) field.set(message, value)
    return message as Local
  }
}

function objectWriter(desc: DescMessage, fields: readonly FieldWriter[]): Write {
  return (given) => {
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw misfit(`an object (${desc.typeName})`, given)
    const value = given as Record<string, unknown>
    const message = create(desc) as Record<string, unknown>
    let at = 0
    try {
      for (; at < fields.length; at++) {
        const field = fields[at] as FieldWriter
        const one = readFrom(value, field)
        if (one !== undefined && (one !== null || field.takesNull)) field.set(message, one)
        else if (field.isRequired) throw new Misfit('is required, but missing')
      }
    } catch (error) {
      throw within(error, stepTo((fields[at] as FieldWriter).name))
    }
    return message as Local
  }
}

function listOf(value: unknown, item: ToLocal): unknown[] {
  if (!Array.isArray(value)) throw misfit('an array', value)
  const made: unknown[] = []
  try {
    for (const one of value as unknown[]) made.push(item(one))
  } catch (error) {
    throw within(error, `[${made.length}]`)
  }
  return made
}

function mapOf(value: unknown, key: (name: string) => string, item: ToLocal): Record<string, unknown> {
  const made: Record<string, unknown> = {}
  for (const [name, one] of entriesOf(value)) {
    if (one === undefined) continue
    try {
      setOwn(made, key(name), item(one))
    } catch (error) {
      throw within(error, stepTo(name))
    }
  }
  return made
}

/** `google.protobuf.Struct`, `Value` and `ListValue`: messages for JSON. */
import { misfit, stepTo, within } from './misfit.ts'
import { setOwn } from './own.ts'

const STRUCT = 'google.protobuf.Struct'
const VALUE = 'google.protobuf.Value'
const LIST = 'google.protobuf.ListValue'

/** The parts of the messages that are used here, as protobuf-es has them. */
interface StructMessage {
  readonly $typeName: typeof STRUCT
  readonly fields: Record<string, ValueMessage>
}
interface ListMessage {
  readonly $typeName: typeof LIST
  readonly values: ValueMessage[]
}
interface ValueMessage {
  readonly $typeName: typeof VALUE
  readonly kind: { readonly case: string | undefined; readonly value?: unknown }
}

/** Any JSON as a `Value`. `undefined` is `null`, as it is in lists of JSON. */
export function toValue(given: unknown): ValueMessage {
  const value = plain(given)
  switch (typeof value) {
    case 'string':
      return kindOf('stringValue', value)
    case 'number':
      return kindOf('numberValue', value)
    case 'boolean':
      return kindOf('boolValue', value)
    case 'undefined':
      return kindOf('nullValue', 0)
    case 'object':
      if (value === null) return kindOf('nullValue', 0)
      return Array.isArray(value)
        ? kindOf('listValue', toList(value))
        : kindOf('structValue', toStruct(value))
  }
  throw misfit('JSON', value)
}

/** The JSON of a value that has a form of its own, such as a Date. */
function plain(value: unknown): unknown {
  const { toJSON } = Object(value) as { toJSON?: unknown }
  return typeof toJSON === 'function' && typeof value === 'object' ? toJSON.call(value) : value
}

function kindOf(name: string, value: unknown): ValueMessage {
  return { $typeName: VALUE, kind: { case: name, value } }
}

/** An object of JSON as a `Struct`. A member that is `undefined` is left out, as in JSON. */
export function toStruct(given: unknown): StructMessage {
  const value = plain(given)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw misfit('an object', value)
  if (ArrayBuffer.isView(value) || value instanceof Map || value instanceof Set) throw misfit('JSON', value)
  const fields: Record<string, ValueMessage> = {}
  for (const [name, member] of Object.entries(value))
    try {
      if (member !== undefined) setOwn(fields, name, toValue(member))
    } catch (error) {
      throw within(error, stepTo(name))
    }
  return { $typeName: STRUCT, fields }
}

export function toList(value: unknown): ListMessage {
  if (!Array.isArray(value)) throw misfit('an array', value)
  const values = value.map((item: unknown, index) => {
    try {
      return toValue(item)
    } catch (error) {
      throw within(error, `[${index}]`)
    }
  })
  return { $typeName: LIST, values }
}

/** The JSON of a `Value`; `undefined` if it is empty. */
export function fromValue({ kind }: ValueMessage): unknown {
  switch (kind.case) {
    case 'structValue':
      return fromStruct(kind.value as StructMessage)
    case 'listValue':
      return fromList(kind.value as ListMessage)
    case 'nullValue':
      return null
    default:
      return kind.value
  }
}

/** A `Value` within JSON. An empty one, which no correct program sends, is `null`. */
function nested(value: ValueMessage): unknown {
  return fromValue(value) ?? null
}

export function fromStruct({ fields }: StructMessage): Record<string, unknown> {
  const made: Record<string, unknown> = {}
  for (const name of Object.keys(fields)) setOwn(made, name, nested(fields[name] as ValueMessage))
  return made
}

export function fromList({ values }: ListMessage): unknown[] {
  return values.map(nested)
}

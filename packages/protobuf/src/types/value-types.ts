/** The types of single values: scalars, and Google's well-known types. */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { isWrapperDesc } from '@bufbuild/protobuf/wkt'
import { int64Of } from '../codec/from-message.ts'
import { LONG } from '../codec/integers.ts'
import { typeOfShape } from '../options/shape-types.ts'
import type { Shapes } from '../options/shapes.ts'

const ANY_JSON = 'unknown'
const JSON_OBJECT = '{ [name: string]: unknown }'
const ANY = "{ '@type': string; [name: string]: unknown }"

/** The type of a scalar that arrives. */
export function arrivingScalar(field: DescField, { int64, bytes }: Shapes): string {
  const type = field.scalar as ScalarType
  if (type === ScalarType.BYTES)
    return bytes === 'bytes' ? 'Uint8Array' : bytes === 'base64' ? 'string' : typeOfShape(bytes)
  if (!LONG.has(type)) return simple(type)
  const shape = int64Of(field) ?? int64
  return typeof shape === 'function' ? typeOfShape(shape) : shape
}

/** The type of a scalar that may be sent. */
export function sentScalar(field: DescField): string {
  const type = field.scalar as ScalarType
  if (type === ScalarType.BYTES) return 'Uint8Array | string'
  return LONG.has(type) ? 'bigint | number | string' : simple(type)
}

function simple(type: ScalarType): string {
  if (type === ScalarType.STRING) return 'string'
  return type === ScalarType.BOOL ? 'boolean' : 'number'
}

/** The type of a message that has a form of its own; `undefined` for all others. */
export function specialType(
  message: DescMessage,
  shapes: Shapes,
  way: 'arriving' | 'sent'
): string | undefined {
  const { wellKnown, timestamps, durations } = shapes
  if (wellKnown === 'messages' || !message.typeName.startsWith('google.protobuf.')) return undefined
  const seconds = way === 'sent' ? '{ seconds: bigint | number; nanos?: number }' : undefined
  switch (message.typeName) {
    case 'google.protobuf.Timestamp':
      if (seconds !== undefined) return `Date | string | ${seconds}`
      return timestamps === 'date' ? 'Date' : timestamps === 'text' ? 'string' : undefined
    case 'google.protobuf.Duration':
      if (seconds !== undefined) return `string | ${seconds}`
      return durations === 'text' ? 'string' : undefined
    case 'google.protobuf.Struct':
      return JSON_OBJECT
    case 'google.protobuf.Value':
      return ANY_JSON
    case 'google.protobuf.ListValue':
      return 'unknown[]'
    case 'google.protobuf.FieldMask':
      return 'string[]'
    case 'google.protobuf.Any':
      return ANY
  }
  if (!isWrapperDesc(message)) return undefined
  const [field] = message.fields
  return way === 'sent' ? sentScalar(field) : arrivingScalar(field, shapes)
}

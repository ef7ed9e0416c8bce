/** Where the value of a field is in a plain object. */
import type { DescField } from '@bufbuild/protobuf'
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt'
import type { Shapes } from '../options/shapes.ts'
import { fieldName } from './names.ts'
import { isInherited } from './own.ts'
import { isJson } from './well-known.ts'

/** The place of one field. */
export interface FieldSource {
  /** The name in the shape of the codec, and a second one that is accepted too. */
  readonly name: string
  readonly other: string
  readonly isRequired: boolean
  /** Whether plain objects inherit something by one of the names. */
  readonly isInherited: boolean
  /** Whether `null` is a value, and not a field that is left out. */
  readonly takesNull: boolean
}

export function sourceOf(field: DescField, shapes: Shapes): FieldSource {
  const name = fieldName(field, shapes)
  const other = name === field.name ? field.jsonName : field.name
  return {
    name,
    other,
    isInherited: isInherited(name) || isInherited(other),
    isRequired: field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED,
    takesNull: field.fieldKind === 'message' && isJson(field.message, shapes)
  }
}

/** The value of a field; `undefined` if the object has none. */
export function readFrom(value: Record<string, unknown>, source: FieldSource): unknown {
  const { name, other } = source
  if (source.isInherited) return own(value, name) ?? own(value, other)
  const one = value[name]
  return one === undefined && other !== name ? value[other] : one
}

function own(value: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

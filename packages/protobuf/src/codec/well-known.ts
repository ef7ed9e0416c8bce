/** Google's well-known types as values: which messages they are, and how each one is written and read. */
import type { DescMessage } from '@bufbuild/protobuf'
import { isWrapperDesc } from '@bufbuild/protobuf/wkt'
import type { Shapes } from '../options/shapes.ts'
import { fromList, fromStruct, fromValue, toList, toStruct, toValue } from './json-values.ts'
import { misfit } from './misfit.ts'
import { dateOf, durationOf, durationText, type Seconds, timestampOf, timeText } from './times.ts'

/** A message as protobuf-es has it. */
export type Local = Record<string, unknown> & { readonly $typeName: string }

const TIMESTAMP = 'google.protobuf.Timestamp'
const DURATION = 'google.protobuf.Duration'
const MASK = 'google.protobuf.FieldMask'
const VALUE = 'google.protobuf.Value'
export const ANY = 'google.protobuf.Any'

/** Whether a message is any JSON, of which `null` is a value. */
export function isJson({ typeName }: DescMessage, { wellKnown }: Shapes): boolean {
  return wellKnown === 'values' && typeName === VALUE
}

/** Writes a value of a well-known type; `undefined` if the message has no form of its own. */
export function wellKnownWriter(
  { typeName }: DescMessage,
  { wellKnown }: Shapes
): ((value: unknown) => object) | undefined {
  // These forms cannot be mistaken for the message, so they are accepted in every shape.
  if (typeName === TIMESTAMP) return (value) => ({ $typeName: typeName, ...timestampOf(value) })
  if (typeName === DURATION) return (value) => ({ $typeName: typeName, ...durationOf(value) })
  if (wellKnown === 'messages') return undefined
  if (typeName === VALUE) return toValue
  if (typeName === 'google.protobuf.Struct') return toStruct
  if (typeName === 'google.protobuf.ListValue') return toList
  if (typeName === MASK) return toMask
  return undefined
}

function toMask(value: unknown): Local {
  const { paths = value } = Object(value) as { readonly paths?: unknown }
  if (Array.isArray(paths) && paths.every((path) => typeof path === 'string'))
    return { $typeName: MASK, paths: [...paths] }
  throw misfit('an array of paths', value)
}

/** Reads a message of a well-known type; `undefined` if the message has no form of its own. */
export function wellKnownReader(
  { typeName }: DescMessage,
  { wellKnown, timestamps, durations }: Shapes
): ((message: never) => unknown) | undefined {
  if (wellKnown === 'messages') return undefined
  switch (typeName) {
    case TIMESTAMP:
      return timestamps === 'date' ? dateOf : timestamps === 'text' ? timeText : undefined
    case DURATION:
      return durations === 'text' ? (message: Seconds) => durationText(message) : undefined
    case VALUE:
      return fromValue
    case 'google.protobuf.Struct':
      return fromStruct
    case 'google.protobuf.ListValue':
      return fromList
    case MASK:
      return ({ paths }: { readonly paths: string[] }) => paths
  }
  return undefined
}

/** Whether a message is a wrapper such as `Int32Value`, whose value stands for it in this shape. */
export function isUnwrapped(desc: DescMessage, { wellKnown }: Shapes): boolean {
  return wellKnown === 'values' && isWrapperDesc(desc)
}

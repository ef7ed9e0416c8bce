/** Scalars and enums on their way into a message: checked, or converted as protobufjs does it. */
import { type DescEnum, ScalarType } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { bigintOf, LONG } from './integers.ts'
import { Misfit, misfit } from './misfit.ts'

/** Makes the value that protobuf-es has in its message. @throws {Misfit} */
export type ToLocal = (value: unknown) => unknown

const INTEGER = /^-?\d{1,11}$/
const SIGNED = [-(2 ** 31), 2 ** 31 - 1] as const
const UNSIGNED = [0, 2 ** 32 - 1] as const

const RANGES: ReadonlyMap<ScalarType, readonly [number, number]> = new Map([
  [ScalarType.INT32, SIGNED],
  [ScalarType.SINT32, SIGNED],
  [ScalarType.SFIXED32, SIGNED],
  [ScalarType.UINT32, UNSIGNED],
  [ScalarType.FIXED32, UNSIGNED]
])

/** @param isStrict whether a value of another type is refused */
export function toScalar(type: ScalarType, isStrict: boolean): ToLocal {
  const checked = checkedScalar(type)
  return isStrict ? checked : (value) => checked(coerced(type, value))
}

function checkedScalar(type: ScalarType): ToLocal {
  switch (type) {
    case ScalarType.STRING:
      return text
    case ScalarType.BOOL:
      return boolean
    case ScalarType.BYTES:
      return bytesOf
    case ScalarType.DOUBLE:
      return number
    case ScalarType.FLOAT:
      return float
  }
  const isUnsigned = LONG.get(type)
  if (isUnsigned !== undefined) return (value) => bigintOf(value, isUnsigned)
  const [least, most] = RANGES.get(type) as readonly [number, number]
  return (value) => {
    const read = typeof value === 'string' && INTEGER.test(value) ? Number(value) : value
    if (typeof read === 'number' && Number.isInteger(read) && read >= least && read <= most) return read
    throw misfit(`a whole number from ${least} to ${most}`, value)
  }
}

function text(value: unknown): string {
  if (typeof value === 'string') return value
  throw misfit('a text', value)
}

function boolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw misfit('true or false', value)
}

function number(value: unknown): number {
  if (typeof value === 'number') return value
  throw misfit('a number', value)
}

function float(value: unknown): number {
  const read = number(value)
  if (Number.isFinite(Math.fround(read)) || !Number.isFinite(read)) return read
  throw new Misfit(`must be a number that a float holds, but is ${read}`)
}

/** Bytes in any of their forms. */
export function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (typeof value === 'string')
    try {
      return base64Decode(value)
    } catch {
      throw misfit('bytes, or a text in base64', value)
    }
  if (Array.isArray(value) && value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256))
    return Uint8Array.from(value as number[])
  throw misfit('bytes (a Uint8Array, or a text in base64)', value)
}

/** Converts as protobufjs does it in `fromObject`. */
function coerced(type: ScalarType, value: unknown): unknown {
  switch (type) {
    case ScalarType.STRING:
      return String(value)
    case ScalarType.BOOL:
      return Boolean(value)
    case ScalarType.BYTES:
      return value
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return Number(value)
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return (value as number) | 0
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return (value as number) >>> 0
    default:
      return typeof value === 'number' ? Math.trunc(value) : value
  }
}

/**
 * Makes the number of an enum's value.
 * @param literals the texts for which the values stand, if they are not the names
 */
export function toEnum(desc: DescEnum, literals?: ReadonlyMap<number, string>): ToLocal {
  const byName = new Map<string, number>()
  if (literals !== undefined) for (const [number, text] of literals) byName.set(text, number)
  else for (const { jsonName, name, number } of desc.values) byName.set(jsonName, number).set(name, number)
  const known = new Set(byName.values())
  const all = [...new Set(literals?.values() ?? desc.values.map(({ name }) => name))]
  const shown = all.slice(0, 5).map((name) => `'${name}'`)
  const expected = `one of ${shown.join(', ')}${all.length > 5 ? ', …' : ''} (${desc.typeName})`
  return (value) => {
    const read = typeof value === 'string' ? byName.get(value) : value
    if (
      typeof read === 'number' &&
      (known.has(read) || (desc.open && Number.isInteger(read) && (read | 0) === read))
    )
      return read
    throw misfit(expected, value)
  }
}

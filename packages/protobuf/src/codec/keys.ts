/** Keys of maps: texts in JavaScript, checked against the type of the key. */
import { ScalarType } from '@bufbuild/protobuf'
import { misfit } from './misfit.ts'
import { toScalar } from './scalars.ts'

/** Checks the keys of a map, and writes each in one way: `'007'` is the key `'7'` of a map with numbers. */
export function keyOf(type: ScalarType): (key: string) => string {
  if (type === ScalarType.STRING) return (key) => key
  if (type === ScalarType.BOOL)
    return (key) => {
      if (key === 'true' || key === 'false') return key
      throw misfit("a key 'true' or 'false'", key)
    }
  const number = toScalar(type, true)
  return (key) => String(number(key))
}

/** The entries of a map, which may be a Map or an object. */
export function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw misfit('an object', value)
  return value instanceof Map ? [...value].map(([name, one]) => [String(name), one]) : Object.entries(value)
}

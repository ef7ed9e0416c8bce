/** Merges what several schemas have made of one value. */
import { isPlain } from '../hooks/same-value.ts'

/**
 * Merges two results of schemas. Each schema drops the properties that it does not know, and may decode values or
 * fill in defaults: the result has the properties of both, decoded if one of them has decoded them. If both have
 * changed the same value, the second result counts.
 * @param given the value that both schemas got
 */
export function mergedValue(given: unknown, first: unknown, second: unknown): unknown {
  if (Object.is(first, second)) return second
  if (isPlain(first) && isPlain(second)) {
    if (!Array.isArray(first) && !Array.isArray(second)) return mergedObjects(given, first, second)
    if (Array.isArray(first) && Array.isArray(second) && first.length === second.length)
      return second.map((value, index) => mergedValue(memberOf(given, index), first[index], value))
  }
  return Object.is(second, given) ? first : second
}

function mergedObjects(
  given: unknown,
  first: Readonly<Record<string, unknown>>,
  second: Readonly<Record<string, unknown>>
): unknown {
  const names = new Set([...Object.keys(first), ...Object.keys(second)])
  // `Object.fromEntries` also keeps a property with the name `__proto__` as a property.
  return Object.fromEntries(
    [...names].map((name) => {
      if (!Object.hasOwn(second, name)) return [name, first[name]]
      if (!Object.hasOwn(first, name)) return [name, second[name]]
      return [name, mergedValue(memberOf(given, name), first[name], second[name])]
    })
  )
}

function memberOf(value: unknown, name: PropertyKey): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined
}

/**
 * Prepares a value for MessagePack, so that MessagePack carries the same as JSON where JSON can: boxed values are
 * unboxed, members that are functions are left out, and a value that would arrive as another type is refused.
 */
import { isWellFormed } from '../../bytes/text.ts'

const OPAQUE = new Set(
  ['Promise', 'WeakMap', 'WeakSet', 'WeakRef', 'Generator', 'AsyncGenerator', 'Error', 'RegExp'].map(
    (tag) => `[object ${tag}]`
  )
)

/**
 * Returns whether an object, such as a promise, has hidden state that cannot be sent. Of an error the hidden state must
 * not be sent.
 */
export function isOpaque(value: object): boolean {
  return OPAQUE.has(Object.prototype.toString.call(value))
}

/** The reason for which a text with a lone surrogate cannot be packed: the end of a sentence about the text. */
export const LONE_SURROGATE = 'has a lone surrogate, which UTF-8 cannot encode'

/** Replaces a value for which a codec has its own form; returns any other value unchanged. */
export type Replace = (value: object | bigint) => unknown

/**
 * Prepares a value to be packed. Copies only where something is replaced.
 * @throws {TypeError} a part of the value has no form in MessagePack
 */
export function prepared(value: unknown, replace: Replace): unknown {
  if (typeof value === 'bigint') return replace(value)
  if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError('it cannot be packed')
  if (typeof value === 'string' && !isWellFormed(value)) throw new TypeError(LONE_SURROGATE)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return preparedList(value, replace)
  // A plain object is the usual case, so it is checked first.
  if (value.constructor === Object) return preparedObject(value as Record<string, unknown>, replace)
  if (value instanceof Map) {
    const entries = [...value].map(
      ([key, member]) => [prepared(key, replace), prepared(member, replace)] as const
    )
    return replace(new Map(entries))
  }
  if (value instanceof Set) return replace(new Set([...value].map((item) => prepared(item, replace))))
  if (value instanceof Date || ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    return replace(value)
  const { toJSON } = value as { toJSON?: unknown }
  if (typeof toJSON === 'function') return prepared(toJSON.call(value), replace)
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return value.valueOf()
  if (isOpaque(value)) throw new TypeError('it cannot be packed')
  return preparedObject(value as Record<string, unknown>, replace)
}

function preparedList(list: readonly unknown[], replace: Replace): readonly unknown[] {
  let copy: unknown[] | undefined
  for (let index = 0; index < list.length; index++) {
    const item = list[index]
    const made = isWhole(item) ? item : prepared(item, replace)
    if (made === item) continue
    copy ??= [...list]
    copy[index] = made
  }
  return copy ?? list
}

function preparedObject(object: Record<string, unknown>, replace: Replace): object {
  let copy: Record<string, unknown> | undefined
  for (const key in object) {
    const member = object[key]
    if (key === '__proto__') throw new TypeError('the key __proto__ would arrive as another key')
    if (!isWellFormed(key)) throw new TypeError(LONE_SURROGATE)
    if (isWhole(member)) continue
    copy = changed(object, copy, key, member, replace)
  }
  return copy ?? object
}

function changed(
  object: Record<string, unknown>,
  copy: Record<string, unknown> | undefined,
  key: string,
  member: unknown,
  replace: Replace
): Record<string, unknown> | undefined {
  // As in JSON, an object is carried without its methods.
  const isOmitted = typeof member === 'function' || typeof member === 'symbol'
  const made = isOmitted ? undefined : prepared(member, replace)
  if (made === member) return copy
  const target = copy ?? { ...object }
  if (isOmitted) delete target[key]
  else target[key] = made
  return target
}

/** Texts, numbers and other simple values are packed unchanged. */
function isWhole(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      return isWellFormed(value)
    case 'object':
      return value === null
    case 'bigint':
    case 'function':
    case 'symbol':
      return false
    default:
      return true
  }
}

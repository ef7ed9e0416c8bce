/**
 * Prepares a value for MessagePack, so that it carries the same as JSON where JSON can:
 * boxed values are unboxed, members that are functions are left out, and what would arrive as something else is refused.
 */
const OPAQUE = new Set(
  ['Promise', 'WeakMap', 'WeakSet', 'WeakRef', 'Generator', 'AsyncGenerator', 'Error', 'RegExp'].map(
    (tag) => `[object ${tag}]`
  )
)

/** Whether an object has hidden state that does not travel, such as a promise; of an error it is meant to stay. */
export function isOpaque(value: object): boolean {
  return OPAQUE.has(Object.prototype.toString.call(value))
}

/** Why a text with a lone surrogate cannot be packed: the end of a sentence about the text. */
export const LONE_SURROGATE = 'has a lone surrogate, which has no UTF-8'

/** Whether a text can be UTF-8. Engines know it of most texts without a look. */
export function isWellFormed(text: string): boolean {
  // Every runtime supported has it; the types are of an older standard.
  return (text as string & { isWellFormed(): boolean }).isWellFormed()
}

/** Replaces values that a codec has a form of its own for; gives any other value back. */
export type Replace = (value: object | bigint) => unknown

/**
 * The value as it is to be packed; a copy only where something is replaced.
 * @throws {TypeError} it holds what has no form in MessagePack
 */
export function prepared(value: unknown, replace: Replace): unknown {
  if (typeof value === 'bigint') return replace(value)
  if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError('it cannot be packed')
  if (typeof value === 'string' && !isWellFormed(value)) throw new TypeError(LONE_SURROGATE)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return preparedList(value, replace)
  // The usual case is found without any other question.
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
    if (key === '__proto__') throw new TypeError('a key __proto__ would be read as another')
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

/** Texts, numbers and the like are packed as they are. */
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

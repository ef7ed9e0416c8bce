/** Finds what a codec cannot carry, and says where it stands. For values that have failed: not a hot path. */
import { OptionError } from '../errors/index.ts'

/**
 * What a codec says of one value that is not a string, a boolean or a finite number.
 * Words for what is wrong with it; `'carried'` if it is carried whole, `'nested'` if its members must be looked at.
 */
export type Verdict = 'carried' | 'nested' | { readonly wrong: string }

/** What a codec can carry. */
export interface Rules {
  judge(value: unknown): Verdict
  /** Whether an object is carried without this member. */
  omits(member: unknown): boolean
}

/** A value somewhere in another. */
export interface Found {
  /** Where it stands, such as `data.items[2]`. */
  readonly path: string
  /** What is wrong with it, in words. */
  readonly wrong: string
  readonly value: unknown
}

const IDENTIFIER = /^[\p{L}_$][\p{L}\p{N}_$]*$/u

/** The first value that cannot be carried, depth first; `undefined` if there is none. */
export function findUncarriable(value: unknown, { judge, omits }: Rules): Found | undefined {
  const within = new Set<object>()

  function look(value: unknown, path: string): Found | undefined {
    const verdict = judge(value)
    if (verdict === 'carried') return undefined
    if (verdict !== 'nested') return { path, wrong: verdict.wrong, value }
    const object = value as object
    if (within.has(object)) return { path, wrong: 'contains itself', value }
    within.add(object)
    for (const [key, member] of members(object)) {
      if (omits(member) && !Array.isArray(object)) continue
      const found = look(member, path + key)
      if (found !== undefined) return found
    }
    within.delete(object)
    return undefined
  }

  return look(value, 'data')
}

function* members(object: object): Generator<[path: string, member: unknown]> {
  if (Array.isArray(object)) {
    for (const [index, item] of object.entries()) yield [`[${index}]`, item]
  } else if (object instanceof Map) {
    for (const [key, item] of object) {
      const shown = `.get(${typeof key === 'string' ? JSON.stringify(key) : describeClass(key)})`
      yield [shown, key]
      yield [shown, item]
    }
  } else if (object instanceof Set) {
    let index = 0
    for (const item of object) yield [`.values()[${index++}]`, item]
  } else {
    for (const [key, member] of Object.entries(object)) {
      yield [IDENTIFIER.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`, member]
    }
  }
}

/** What a value is, in a word or two: `a Map`, `a bigint`. */
export function describeClass(value: unknown): string {
  const name =
    typeof value === 'object' && value !== null
      ? Object.getPrototypeOf(value)?.constructor?.name || 'Object'
      : typeof value
  return `${/^[aeiouAEIOU]/.test(name) ? 'an' : 'a'} ${name}`
}

/**
 * The error for a value that could not be encoded: names where the first thing stands that the codec cannot
 * carry, or passes on what the encoder said.
 * @param type the MIME type or its short name
 */
export function cannotCarry(type: string, value: unknown, rules: Rules, cause?: unknown): OptionError {
  const { path, wrong } = findSafely(value, rules) ?? { path: 'data', wrong: reasonOf(cause) }
  return new OptionError(path, `${path} cannot be carried by ${type}: it ${wrong}`, cause)
}

/** Getters and Proxies of the user's may throw again while their place is looked for. */
function findSafely(value: unknown, rules: Rules): Found | undefined {
  try {
    return findUncarriable(value, rules)
  } catch {
    return undefined
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? `fails with "${cause.message}"` : 'has no form there'
}

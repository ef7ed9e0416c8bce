/** Finds the part of a value that a codec cannot carry, and its path. Runs only for values that failed. */
import { OptionError } from '../errors/index.ts'

/**
 * Whether a codec can carry a value: `'carried'` if it can, `'nested'` if that depends on its members, else what is
 * wrong, in words.
 */
export type Verdict = 'carried' | 'nested' | { readonly wrong: string }

/** Says what a codec can carry. */
export interface Rules {
  judge(value: unknown): Verdict
  /** Whether objects are carried without this member. */
  omits(member: unknown): boolean
}

/** A part of a value that cannot be carried. */
export interface Found {
  /** Its path, such as `data.items[2]`. */
  readonly path: string
  /** Why it cannot be carried: the end of a sentence that begins with "it", such as `is not a finite number`. */
  readonly wrong: string
  readonly value: unknown
}

const IDENTIFIER = /^[\p{L}_$][\p{L}\p{N}_$]*$/u

/** Finds the first part that cannot be carried, depth first; `undefined` if there is none. */
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

/** The type of a value in words: `a Map`, `a bigint`. */
export function describeClass(value: unknown): string {
  const name =
    typeof value === 'object' && value !== null
      ? Object.getPrototypeOf(value)?.constructor?.name || 'Object'
      : typeof value
  return `${/^[aeiouAEIOU]/.test(name) ? 'an' : 'a'} ${name}`
}

/**
 * The error for a value that could not be encoded. Names the first part that the codec cannot carry, or else repeats
 * the encoder's own error.
 * @param type the MIME type or its short name
 */
export function cannotCarry(type: string, value: unknown, rules: Rules, cause?: unknown): OptionError {
  const { path, wrong } = findSafely(value, rules) ?? { path: 'data', wrong: reasonOf(cause) }
  return new OptionError(path, `${path} cannot be carried by ${type}: it ${wrong}`, cause)
}

/** Catches errors, because the user's getters and Proxies may throw again during the search. */
function findSafely(value: unknown, rules: Rules): Found | undefined {
  try {
    return findUncarriable(value, rules)
  } catch {
    return undefined
  }
}

/** Why a value could not be encoded, as the end of a sentence about it. The cause may be anything: never throws. */
export function reasonOf(cause: unknown): string {
  try {
    if (cause instanceof Error) return `fails with "${cause.message}"`
  } catch {
    // It was thrown by a getter or a Proxy, and cannot be read either.
  }
  return 'has no form there'
}

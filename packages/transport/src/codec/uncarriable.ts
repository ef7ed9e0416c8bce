/**
 * Finds the part of a value that a codec cannot carry, and the path of that part. Runs only for values that could not
 * be encoded.
 */
import { OptionError } from '../errors/index.ts'

/**
 * Says whether a codec can carry a value: `'carried'` if the codec can, `'nested'` if that depends on the members of
 * the value, else a text that says what is wrong.
 */
export type Verdict = 'carried' | 'nested' | { readonly wrong: string }

/** The rules by which a codec accepts or refuses a value. */
export interface Rules {
  judge(value: unknown): Verdict
  /** Returns whether the codec leaves out this member of an object. */
  omits(member: unknown): boolean
  /** The members of a nested value, each with its path from the value. */
  members(object: object): Iterable<Member>
}

/** A member of a value, and its path from the value. */
export type Member = readonly [path: string, member: unknown]

/** A part of a value that cannot be carried. */
export interface Found {
  /** The path of the part, such as `data.items[2]`. */
  readonly path: string
  /** Why the part cannot be carried: the end of a sentence, such as `is not a finite number`. */
  readonly wrong: string
  readonly value: unknown
}

const IDENTIFIER = /^[\p{L}_$][\p{L}\p{N}_$]*$/u

/** Finds the first part that cannot be carried, depth first; `undefined` if there is no such part. */
export function findUncarriable(value: unknown, { judge, omits, members }: Rules): Found | undefined {
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

/** The items of an array, or the properties of an object. */
export function membersOf(object: object): Iterable<Member> {
  // `map` would leave the holes of a list out.
  if (Array.isArray(object))
    return Array.from(object, (item: unknown, index) => [`[${index}]`, item] as const)
  return Object.entries(object).map(([key, member]) => [
    IDENTIFIER.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`,
    member
  ])
}

/** The type of a value as text: `a Map`, `a bigint`. */
export function describeClass(value: unknown): string {
  const name =
    typeof value === 'object' && value !== null
      ? Object.getPrototypeOf(value)?.constructor?.name || 'Object'
      : typeof value
  return `${/^[aeiouAEIOU]/.test(name) ? 'an' : 'a'} ${name}`
}

/**
 * Makes the error for a value that could not be encoded. The error names the first part that the codec cannot carry, or
 * else repeats the encoder's own error.
 * @param type the MIME type or its short name
 */
export function cannotCarry(type: string, value: unknown, rules: Rules, cause?: unknown): OptionError {
  const { path, wrong } = findSafely(value, rules) ?? { path: 'data', wrong: reasonOf(cause) }
  return new OptionError(path, `${path} cannot be carried by ${type}: it ${wrong}`, cause)
}

/** Catches errors, because a getter or Proxy of the user may throw again during the search. */
function findSafely(value: unknown, rules: Rules): Found | undefined {
  try {
    return findUncarriable(value, rules)
  } catch {
    return undefined
  }
}

/**
 * Why a value could not be encoded, as the end of a sentence about the value. Never throws, because `cause` may be any
 * value.
 */
export function reasonOf(cause: unknown): string {
  try {
    if (cause instanceof Error) return `fails with "${cause.message}"`
  } catch {
    // The cause was thrown by a getter or a Proxy, and reading it throws as well.
  }
  return 'cannot be encoded'
}

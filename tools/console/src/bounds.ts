/** Converts data of untrusted services to plain values of limited size, which can be sent to a page. */

/** Largest number of characters of a text. */
const MAX_TEXT = 1_000
/** Largest depth of a schema. */
const MAX_DEPTH = 24
/** This number of characters counts as one value of a budget. */
const CHARACTERS = 25

/** Control characters except tabs and line breaks. They are invisible, and each takes six bytes in JSON. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it takes out
const CONTROL = /[\0-\b\v\f\x0e-\x1f\x7f]/g

/** A text of limited length, with an ellipsis where it was cut; empty if the value is not a text. */
export function shortText(value: unknown, length = MAX_TEXT): string {
  if (typeof value !== 'string') return ''
  const text = value.length <= length ? value : `${value.slice(0, length)}…`
  return text.replace(CONTROL, '\ufffd')
}

/** A finite number; 0 for any other value. */
export function finite(value: unknown): number {
  // Adding 0 converts -0 to 0, as JSON does.
  return typeof value === 'number' && Number.isFinite(value) ? value + 0 : 0
}

/** The first items of a list; an empty list for any other value. */
export function firstOf(value: unknown, most: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, most) : []
}

/** Any value as an object whose fields can be read. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return Object(value) as Record<string, unknown>
}

/** The first own properties of an object. The loop stops early, because the object may have very many properties. */
export function entriesOf(value: unknown, most: number): [string, unknown][] {
  const entries: [string, unknown][] = []
  if (typeof value !== 'object' || value === null) return entries
  for (const key in value) {
    if (entries.length >= most) break
    if (Object.hasOwn(value, key)) entries.push([key, (value as Record<string, unknown>)[key]])
  }
  return entries
}

/** Copies JSON values as long as there is room. All copies that are made with the same budget share its room. */
export class Budget {
  #left: number

  /** @param nodes the room as a number of values, where 25 characters count as one value */
  constructor(nodes: number) {
    this.#left = nodes
  }

  /** A copy of plain values; `undefined` if the value is too large, too deep or not JSON. */
  copy(value: unknown): unknown {
    try {
      return this.#copy(value, 0)
    } catch (error) {
      if (error === TOO_LARGE) return undefined
      throw error
    }
  }

  #copy(value: unknown, depth: number): unknown {
    this.#take(1)
    if (depth > MAX_DEPTH) throw TOO_LARGE
    if (value === null || typeof value === 'boolean') return value
    if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
    if (typeof value === 'string') {
      this.#take(value.length / CHARACTERS)
      return value
    }
    if (Array.isArray(value)) {
      this.#take(value.length)
      return value.map((each) => this.#copy(each, depth + 1))
    }
    if (typeof value !== 'object') return null
    const copied: [string, unknown][] = []
    for (const key in value) {
      if (!Object.hasOwn(value, key)) continue
      this.#take(1 + key.length / CHARACTERS)
      copied.push([key, this.#copy((value as Record<string, unknown>)[key], depth + 1)])
    }
    // `Object.fromEntries` is used because an assignment to the key `__proto__` would set the prototype.
    return Object.fromEntries(copied)
  }

  #take(nodes: number): void {
    this.#left -= nodes
    if (this.#left < 0) throw TOO_LARGE
  }
}

const TOO_LARGE = Symbol('too large')

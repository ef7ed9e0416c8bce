/** Bounds for data of others that reach a page: plain values, of limited size. */

/** Characters of a text. */
const MAX_TEXT = 1_000
/** The greatest depth of a schema. */
const MAX_DEPTH = 24
/** Characters that count as one value. */
const CHARACTERS = 25

/** Control characters but tabs and ends of lines: nobody sees them, and JSON has six bytes for each. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it takes out
const CONTROL = /[\0-\b\v\f\x0e-\x1f\x7f]/g

/** A text that is short enough to be shown, with a sign where it was cut; empty for anything else. */
export function shortText(value: unknown, length = MAX_TEXT): string {
  if (typeof value !== 'string') return ''
  const text = value.length <= length ? value : `${value.slice(0, length)}…`
  return text.replace(CONTROL, '\ufffd')
}

/** A number that can be drawn; 0 for anything else. */
export function finite(value: unknown): number {
  // -0 is 0 in JSON.
  return typeof value === 'number' && Number.isFinite(value) ? value + 0 : 0
}

/** The first of a list; none of anything else. */
export function firstOf(value: unknown, most: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, most) : []
}

/** Any value as something whose fields can be looked at. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return Object(value) as Record<string, unknown>
}

/** The first own fields of an object. A `for` loop: the list of all might be long. */
export function entriesOf(value: unknown, most: number): [string, unknown][] {
  const entries: [string, unknown][] = []
  if (typeof value !== 'object' || value === null) return entries
  for (const key in value) {
    if (entries.length >= most) break
    if (Object.hasOwn(value, key)) entries.push([key, (value as Record<string, unknown>)[key]])
  }
  return entries
}

/** Copies JSON as far as there is room, which all copies of one budget share. */
export class Budget {
  #left: number

  /** @param nodes how many values and characters, where 25 characters count as one value */
  constructor(nodes: number) {
    this.#left = nodes
  }

  /** A copy of plain values; `undefined` if it is too large, too deep or not JSON. */
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
    // Not by assignment, which would set a prototype where the key is `__proto__`.
    return Object.fromEntries(copied)
  }

  #take(nodes: number): void {
    this.#left -= nodes
    if (this.#left < 0) throw TOO_LARGE
  }
}

const TOO_LARGE = Symbol('too large')

/**
 * Turns the pattern of a packet into the route of its handler, as Nest does: the pattern becomes text, and if that text
 * is JSON, the parsed value is used. So `5`, `'5'` and `'5.0'` are the same pattern, and so are `'{"b":1,"a":2}'` and
 * `{ a: 2, b: 1 }`.
 */
import { routeOfValue } from '@elysia-microservices/transport/kit'

/** A received pattern: its text for handlers and logs, its route for the lookup. */
export interface IncomingPattern {
  readonly text: string
  readonly route: string | undefined
}

/** Most patterns that are remembered by their text; limited, because peers choose patterns. */
const MAX_REMEMBERED = 1024
/** Longest text that is remembered. */
const MAX_REMEMBERED_LENGTH = 256

const NO_PATTERN: IncomingPattern = { text: 'undefined', route: undefined }

/** Reads patterns and remembers those that had to be parsed. */
export class PatternReader {
  readonly #remembered = new Map<string, IncomingPattern>()

  /** Returns text and route of a packet's pattern. */
  read(pattern: unknown): IncomingPattern {
    if (pattern === undefined) return NO_PATTERN
    const text = typeof pattern === 'string' ? pattern : textOf(pattern)
    const known = this.#remembered.get(text)
    if (known !== undefined) return known
    const fresh = { text, route: lookUpRoute(text) }
    if (text.length <= MAX_REMEMBERED_LENGTH) {
      if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
      this.#remembered.set(text, fresh)
    }
    return fresh
  }
}

/**
 * Whether a text is certainly its own route, because no JSON begins with its first letter. False means that this is not
 * known. The check saves parsing and lookup for most patterns.
 */
export function isPlainRoute(text: string): boolean {
  // Clearing one bit turns lower case into upper case. F, N and T are left out, because false, null and true begin with
  // them.
  const letter = text.charCodeAt(0) & ~0x20
  return letter >= 0x41 && letter <= 0x5a && letter !== 0x46 && letter !== 0x4e && letter !== 0x54
}

/** The route of a pattern's text. */
export function lookUpRoute(text: string): string | undefined {
  try {
    return routeOfValue(JSON.parse(text))
  } catch {
    return text
  }
}

function textOf(pattern: unknown): string {
  try {
    return String(JSON.stringify(pattern))
  } catch {
    // The pattern is nested too deeply to be converted to text.
    return '[UNSERIALIZABLE_PATTERN]'
  }
}

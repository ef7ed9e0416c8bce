/**
 * From the pattern of a packet to the route of its handler, as Nest looks it up: the pattern is made text,
 * and if that text is JSON, the parsed value is what counts. So `5`, `'5'` and `'5.0'` are one pattern, and
 * `'{"b":1,"a":2}'` and `{ a: 2, b: 1 }` another.
 */
import { routeOfValue } from '@elysia-microservices/transport/kit'

/** An incoming pattern: its text for handlers and logs, its route for the look-up. */
export interface IncomingPattern {
  readonly text: string
  readonly route: string | undefined
}

/** Patterns remembered by their text; bounded, because peers choose them. */
const MAX_REMEMBERED = 1024
/** Longer texts are not remembered. */
const MAX_REMEMBERED_LENGTH = 256

const NO_PATTERN: IncomingPattern = { text: 'undefined', route: undefined }

/** Looks patterns up; remembers those that had to be parsed. */
export class PatternReader {
  readonly #remembered = new Map<string, IncomingPattern>()

  /** The text and route of a pattern as it stands in a packet. */
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
 * Whether a text is surely its own route, because no JSON begins like it. Says false where it is not sure.
 * Spares most patterns the parsing and the look-up in memory.
 */
export function isPlainRoute(text: string): boolean {
  // Lower case folds onto upper case by the bit between them; other characters that fold are not letters.
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
    // Nested too deeply to be written.
    return '[UNSERIALIZABLE_PATTERN]'
  }
}

/**
 * Counts the messages of this process, for no reader in particular. One look-up by pattern and one addition a message;
 * the number of patterns and codes that are told apart is bounded.
 */
import { Histogram, StreamDurations } from './histogram.ts'

/** The end at which a message is counted, and its kind: each has names of its own in the semantic conventions. */
export type Side = 'server' | 'client' | 'consumer' | 'producer'

/** Stands for all patterns, and all codes, beyond the bounds. The word of the semantic conventions. */
export const OTHER = '_OTHER'

/** Patterns that are told apart on one side. A pattern beyond is counted as `_OTHER`. */
export const MAX_PATTERNS = 1_000
/** Codes that are told apart of one pattern. */
const MAX_CODES = 30

/** The end of a message: `'OK'`, or a code. */
export type Code = string

/** The counts of one pattern. */
export class PatternFigures {
  readonly pattern: string
  /** The broker that carried its events; `undefined`: requests, and events that come straight from their senders. */
  readonly broker: string | undefined
  /** Messages that take more than the turn they came in, and have not ended. */
  inFlight = 0
  /** Values that streams have given. */
  values = 0
  /** Retries of calls. */
  retries = 0
  /** Durations by how the messages ended. */
  readonly durations = new Map<Code, Histogram>()
  /** Durations of streams among them; `undefined` while none has ended. */
  streams: StreamDurations | undefined
  /** The durations of messages that succeeded, as most do. */
  #ok: Histogram | undefined

  constructor(pattern: string, broker?: string) {
    this.pattern = pattern
    this.broker = broker
  }

  /** A message has ended. @param ms how long it took */
  ended(code: Code, ms: number): void {
    const durations = code === 'OK' ? this.#ok : undefined
    ;(durations ?? this.#durationsOf(code)).add(ms / 1_000)
  }

  /** A stream has ended, besides being counted as a message. @param ms how long it lived */
  streamEnded(ms: number): void {
    this.streams ??= new StreamDurations()
    this.streams.add(ms / 1_000)
  }

  #durationsOf(code: Code): Histogram {
    const known = this.durations.get(code)
    if (known !== undefined) return known
    if (this.durations.size >= MAX_CODES && code !== OTHER) return this.#durationsOf(OTHER)
    const histogram = new Histogram()
    this.durations.set(code, histogram)
    if (code === 'OK') this.#ok = histogram
    return histogram
  }
}

/** The counts of one side. */
export class SideFigures {
  readonly #patterns = new Map<string, PatternFigures>()
  readonly #other = new PatternFigures(OTHER)

  /** The figures of a pattern; those of `_OTHER` if there are too many, or nobody handles it. */
  of(pattern: string | undefined, broker?: string): PatternFigures {
    if (pattern === undefined || pattern === OTHER) return this.#other
    const key = keyOf(pattern, broker)
    const known = this.#patterns.get(key)
    if (known !== undefined) return known
    if (this.#patterns.size >= MAX_PATTERNS) return this.#other
    const figures = new PatternFigures(pattern, broker)
    this.#patterns.set(key, figures)
    return figures
  }

  /** Takes back what `of` has made for a message that turned out to be of another pattern, unless it was used. */
  forget(figures: PatternFigures): void {
    if (figures.durations.size === 0 && figures.inFlight === 0)
      this.#patterns.delete(keyOf(figures.pattern, figures.broker))
  }

  /** The figures of all patterns that anything was counted of. */
  *all(): Iterable<PatternFigures> {
    yield* this.#patterns.values()
    if (this.#other.durations.size > 0 || this.#other.retries > 0) yield this.#other
  }
}

function keyOf(pattern: string, broker: string | undefined): string {
  return broker === undefined ? pattern : `${broker} ${pattern}`
}

/** All counts of this process. */
export class Figures {
  readonly server = new SideFigures()
  readonly client = new SideFigures()
  readonly consumer = new SideFigures()
  readonly producer = new SideFigures()
  /** How often clients have given up an endpoint for a while. */
  ejections = 0
  /** Since when it is counted: milliseconds since 1970. */
  readonly since = Date.now()
}

/** The figures of this process. */
export const figures = new Figures()

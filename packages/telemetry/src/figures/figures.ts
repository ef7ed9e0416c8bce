/**
 * Counts the messages of this process. A message costs one look-up by its pattern and one addition. The number of
 * patterns and codes that are counted separately is limited.
 */
import { Histogram, StreamDurations } from './histogram.ts'

/**
 * The end at which a message is counted, and the kind of message. The semantic conventions have separate names for
 * each.
 */
export type Side = 'server' | 'client' | 'consumer' | 'producer'

/**
 * The name under which all patterns and codes beyond the limits are counted; the semantic conventions define this
 * name.
 */
export const OTHER = '_OTHER'

/** How many patterns of one side are counted separately. Further patterns are counted as `_OTHER`. */
export const MAX_PATTERNS = 1_000
/** How many codes of one pattern are counted separately. */
const MAX_CODES = 30

/** The outcome of a message: `'OK'`, or an error code. */
export type Code = string

/** The counts of one pattern. */
export class PatternFigures {
  readonly pattern: string
  /** The broker that carried the pattern's events, or the RPC system of its requests; `undefined`: this library. */
  readonly system: string | undefined
  /** Messages that did not end in the turn in which they arrived, and have not ended yet. */
  inFlight = 0
  /** Values that streams have sent. */
  values = 0
  /** Retries of calls. */
  retries = 0
  /** Durations by the code with which the messages ended. */
  readonly durations = new Map<Code, Histogram>()
  /** Durations of the streams among these messages; `undefined` while no stream has ended. */
  streams: StreamDurations | undefined
  /** The durations of messages that succeeded. They have a field of their own because most messages succeed. */
  #ok: Histogram | undefined

  constructor(pattern: string, system?: string) {
    this.pattern = pattern
    this.system = system
  }

  /** Counts a message that has ended. @param ms how long the message took */
  ended(code: Code, ms: number): void {
    const durations = code === 'OK' ? this.#ok : undefined
    ;(durations ?? this.#durationsOf(code)).add(ms / 1_000)
  }

  /** Counts a stream that has ended, in addition to `ended`. @param ms how long the stream lived */
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

/** The figures of one side, by pattern. */
export class SideFigures {
  readonly #patterns = new Map<string, PatternFigures>()
  readonly #other = new PatternFigures(OTHER)

  /**
   * The figures of a pattern. Returns those of `_OTHER` if there are too many patterns, or if the pattern has no
   * handler.
   * @param mayBeNew false if the pattern may be any text of a stranger: then only a known pattern has figures
   */
  of(pattern: string | undefined, system?: string, mayBeNew = true): PatternFigures {
    if (pattern === undefined || pattern === OTHER) return this.#other
    const key = keyOf(pattern, system)
    const known = this.#patterns.get(key)
    if (known !== undefined) return known
    if (!mayBeNew || this.#patterns.size >= MAX_PATTERNS) return this.#other
    const figures = new PatternFigures(pattern, system)
    this.#patterns.set(key, figures)
    return figures
  }

  /**
   * Removes the figures that `of` has created, if nothing was counted in them: the message turned out to have
   * another pattern.
   */
  forget(figures: PatternFigures): void {
    if (figures.durations.size === 0 && figures.inFlight === 0)
      this.#patterns.delete(keyOf(figures.pattern, figures.system))
  }

  /** The figures of all patterns for which something was counted. */
  *all(): Iterable<PatternFigures> {
    yield* this.#patterns.values()
    if (this.#other.durations.size > 0 || this.#other.retries > 0) yield this.#other
  }
}

function keyOf(pattern: string, system: string | undefined): string {
  return system === undefined ? pattern : `${system} ${pattern}`
}

/** All figures of this process. */
export class Figures {
  readonly server = new SideFigures()
  readonly client = new SideFigures()
  readonly consumer = new SideFigures()
  readonly producer = new SideFigures()
  /** How often clients have stopped using an endpoint for a while. */
  ejections = 0
  /** The time at which counting began, in milliseconds since 1970. */
  readonly since = Date.now()
}

/** The figures of this process. */
export const figures = new Figures()

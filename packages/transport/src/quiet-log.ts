/**
 * Limits log lines that peers can cause, as often as they like and with texts of their choice: each kind of line is
 * limited in number, and texts are shortened and have no control characters.
 */
import type { Logger } from './logger.ts'

/** Milliseconds in which a limited number of lines of one kind is written. */
const INTERVAL = 10_000
/** Most characters that are logged of a text from a peer. */
const MOST_SHOWN = 200

interface Kind {
  /** The end of the current interval. */
  until: number
  written: number
  omitted: number
}

/** A log for lines of which peers can cause very many. */
export class QuietLog {
  readonly #logger: Logger
  readonly #now: () => number
  readonly #kinds = new Map<string, Kind>()

  /** @param now milliseconds of a clock that never goes back */
  constructor(logger: Logger, now: () => number) {
    this.#logger = logger
    this.#now = now
  }

  /**
   * Logs a warning, unless `most` lines of this kind were written in the last 10 seconds. The next line tells how many
   * were omitted.
   * @param kind there must be few kinds, and peers must not choose them
   */
  warn(kind: string, message: string, cause?: unknown, most = 1): void {
    this.#write('warn', kind, message, cause, most)
  }

  /** Logs an error, limited like `warn`. */
  error(kind: string, message: string, cause?: unknown, most = 1): void {
    this.#write('error', kind, message, cause, most)
  }

  #write(level: 'warn' | 'error', kind: string, message: string, cause: unknown, most: number): void {
    const omitted = this.#admit(kind, most)
    if (omitted === undefined) return
    const line = message + omitted
    // Without a cause the logger gets one argument, because many loggers print each argument, even `undefined`.
    if (cause === undefined) this.#logger[level](line)
    else this.#logger[level](line, cause)
  }

  /** Returns a remark on omitted lines, for the end of this line; `undefined` if this line must be omitted, too. */
  #admit(kind: string, most: number): string | undefined {
    const now = this.#now()
    let known = this.#kinds.get(kind)
    if (known === undefined) {
      known = { until: Number.NEGATIVE_INFINITY, written: 0, omitted: 0 }
      this.#kinds.set(kind, known)
    }
    if (now >= known.until) {
      known.until = now + INTERVAL
      known.written = 0
    }
    if (known.written >= most) {
      known.omitted++
      return undefined
    }
    known.written++
    const { omitted } = known
    known.omitted = 0
    return omitted === 0 ? '' : ` (and ${omitted} more since the last such line)`
  }
}

const logs = new WeakMap<Logger, QuietLog>()

/** Returns the limited log of a logger: all connections with the same logger share it. */
export function quietLog(logger: Logger): QuietLog {
  let log = logs.get(logger)
  if (log === undefined) {
    log = new QuietLog(logger, () => performance.now())
    logs.set(logger, log)
  }
  return log
}

/** Prepares a text from a peer for a log line: puts it on one line, removes control characters, and shortens it. */
export function shown(text: string): string {
  const start = text.length > MOST_SHOWN ? text.slice(0, MOST_SHOWN) : text
  const harmless = start.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`
  )
  return text.length > MOST_SHOWN ? `${harmless}… (${text.length} characters)` : harmless
}

/** The last lines of a program, for the page. */

/** A line, with its number since the start of `dev`. */
export interface LogEntry {
  readonly number: number
  /** Milliseconds since 1970. */
  readonly at: number
  readonly text: string
}

/** How many lines of a program are kept, and how many characters of each. */
const MAX_LINES = 1_000
const MAX_LINE = 2_000

/** Keeps lines; the oldest are forgotten. */
export class Log {
  readonly #entries: LogEntry[] = []
  #last = 0

  add(texts: readonly string[]): void {
    const at = Date.now()
    for (const text of texts) this.#entries.push({ number: ++this.#last, at, text: text.slice(0, MAX_LINE) })
    // Not at each line: moving a thousand entries costs more than keeping a few more.
    if (this.#entries.length > 2 * MAX_LINES) this.#entries.splice(0, this.#entries.length - MAX_LINES)
  }

  /** The lines after one with a number. A number that was not given yet is that of another `dev`. */
  after(number: number): { readonly last: number; readonly lines: readonly LogEntry[] } {
    const from = number > this.#last ? 0 : number
    return {
      last: this.#last,
      lines: this.#entries.slice(-MAX_LINES).filter((entry) => entry.number > from)
    }
  }
}

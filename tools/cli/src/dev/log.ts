/** The last lines of a program, for the page. */
import { stripVTControlCharacters } from 'node:util'
import type { ProgramLine, ProgramLines } from '@elysia-microservices/console'

/** How many lines of a program are kept, and how many characters of each. */
const MAX_LINES = 1_000
const MAX_LINE = 2_000

/** Keeps lines; the oldest are forgotten. */
export class Log {
  readonly #entries: ProgramLine[] = []
  #last = 0

  add(texts: readonly string[]): void {
    const at = Date.now()
    for (const line of texts) {
      const text = stripVTControlCharacters(line.slice(0, MAX_LINE))
      this.#entries.push({ number: ++this.#last, at, text })
    }
    // Not at each line: moving a thousand entries costs more than keeping a few more.
    if (this.#entries.length > 2 * MAX_LINES) this.#entries.splice(0, this.#entries.length - MAX_LINES)
  }

  /** The lines after one with a number. A number that was not given yet is that of another `dev`. */
  after(number: number): ProgramLines {
    const from = number > this.#last ? 0 : number
    return {
      last: this.#last,
      lines: this.#entries.slice(-MAX_LINES).filter((entry) => entry.number > from)
    }
  }
}

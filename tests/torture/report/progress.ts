/** Shows the progress of a run on stderr: one changing line on a terminal, otherwise a plain line now and then. */

interface Terminal {
  readonly isTTY?: boolean | undefined
  write(text: string): unknown
}

const CLEAR_LINE = '\r\u001b[2K'
/** Milliseconds between two plain lines. */
const INTERVAL = 10_000

export class Progress {
  readonly #terminal: Terminal
  readonly #now: () => number
  #name = ''
  #lastLine = 0

  constructor(terminal: Terminal = process.stderr, now = () => performance.now()) {
    this.#terminal = terminal
    this.#now = now
  }

  /** Notes that a scenario begins. */
  begin(name: string): void {
    this.#name = name
    this.#lastLine = this.#now()
    if (this.#terminal.isTTY) this.#terminal.write(`${CLEAR_LINE}${name} …`)
    else this.#terminal.write(`${name} …\n`)
  }

  /** Shows the progress of the scenario. */
  show(text: string): void {
    if (this.#terminal.isTTY) {
      this.#terminal.write(`${CLEAR_LINE}${this.#name}: ${text}`)
      return
    }
    if (this.#now() - this.#lastLine < INTERVAL) return
    this.#lastLine = this.#now()
    this.#terminal.write(`${this.#name}: ${text}\n`)
  }

  /** Notes that the scenario has ended. */
  end(text: string): void {
    const clear = this.#terminal.isTTY ? CLEAR_LINE : ''
    this.#terminal.write(`${clear}${this.#name}: ${text}\n`)
  }
}

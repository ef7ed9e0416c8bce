/** How far a run is, on stderr: a line that changes on a terminal, plain lines now and then elsewhere. */

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

  /** A scenario begins. */
  begin(name: string): void {
    this.#name = name
    this.#lastLine = this.#now()
    if (this.#terminal.isTTY) this.#terminal.write(`${CLEAR_LINE}${name} …`)
    else this.#terminal.write(`${name} …\n`)
  }

  /** It has got so far. */
  show(text: string): void {
    if (this.#terminal.isTTY) {
      this.#terminal.write(`${CLEAR_LINE}${this.#name}: ${text}`)
      return
    }
    if (this.#now() - this.#lastLine < INTERVAL) return
    this.#lastLine = this.#now()
    this.#terminal.write(`${this.#name}: ${text}\n`)
  }

  /** It is over. */
  end(text: string): void {
    const clear = this.#terminal.isTTY ? CLEAR_LINE : ''
    this.#terminal.write(`${clear}${this.#name}: ${text}\n`)
  }
}

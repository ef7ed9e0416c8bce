/** Writes the lines of several programs to one output, each with the name of its program in the program's colour. */
import { StringDecoder } from 'node:string_decoder'
import { plainText } from '../output.ts'

/** The output for lines. */
export interface LineOutput {
  write(text: string): boolean
  once(event: 'drain', listener: () => void): unknown
}

/** The name before lines of the command itself. */
export const OWN = 'dev'
/** Cyan, yellow, green, magenta and blue, followed by brighter versions of them. Red is for errors. */
const COLOURS = [36, 33, 32, 35, 34, 96, 93, 92, 95, 94]
const GREY = 90
/** The number of characters after which a line of a program is broken. */
const MAX_LINE = 16_384
/** Matches colours, which a program may use. Sequences that move the cursor or clear the screen are removed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's own
const COLOUR = /(\u001b\[[\d;:]*m)/
/** Matches all other escape sequences that a terminal obeys. */
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's own
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g
const RESET = '\u001b[0m'

/** Whether colours are used: on a terminal, unless NO_COLOR is set; and always if FORCE_COLOR is set. */
export function usesColours(isTerminal: boolean, env: NodeJS.ProcessEnv): boolean {
  const { NO_COLOR = '', FORCE_COLOR = '', TERM } = env
  if (NO_COLOR !== '') return false
  if (FORCE_COLOR !== '') return FORCE_COLOR !== '0'
  return isTerminal && TERM !== 'dumb'
}

/** Writes lines. */
export class Lines {
  readonly #output: LineOutput
  readonly #hasColours: boolean
  readonly #width: number
  readonly #colours = new Map<string, number>()
  #isFull = false
  #isClosed = false
  #waiting: (() => void)[] = []

  /** @param names the names of the programs, which determine the colours and the width of the names */
  constructor(output: LineOutput, hasColours: boolean, names: readonly string[]) {
    this.#output = output
    this.#hasColours = hasColours
    this.#width = Math.max(OWN.length, ...names.map(({ length }) => length))
    for (const [index, name] of names.entries())
      this.#colours.set(name, COLOURS[index % COLOURS.length] as number)
  }

  /** Writes a line of the command itself. */
  say(text: string): void {
    this.#write(OWN, plainText(text))
  }

  /** Writes a line of a program. */
  add(name: string, line: string): void {
    this.#write(name, this.#shown(line))
  }

  /** Whether the reader of the output is too slow at the moment. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Calls the listener when the output can take lines again. */
  onRoom(listener: () => void): void {
    this.#waiting.push(listener)
  }

  /** Drops all further lines, because nobody reads the output any more. */
  close(): void {
    this.#isClosed = true
    this.#room()
  }

  #write(name: string, text: string): void {
    if (this.#isClosed) return
    const head = `${name.padEnd(this.#width)} |`
    const colour = this.#colours.get(name) ?? GREY
    const shown = this.#hasColours ? `\u001b[${colour}m${head}${RESET}` : head
    if (this.#output.write(`${shown} ${text}\n`) || this.#isFull) return
    this.#isFull = true
    this.#output.once('drain', () => this.#room())
  }

  #room(): void {
    this.#isFull = false
    const waiting = this.#waiting
    this.#waiting = []
    for (const listener of waiting) listener()
  }

  #shown(line: string): string {
    if (!this.#hasColours) return plain(line)
    const parts = line.split(COLOUR)
    // Colour sequences are at the odd indexes.
    const shown = parts.map((part, index) => (index % 2 === 1 ? part : plain(part)))
    return parts.length > 1 ? `${shown.join('')}${RESET}` : shown.join('')
  }
}

/** A text without characters that a terminal would obey, except tabs. */
function plain(text: string): string {
  return text.replace(SEQUENCE, '').split('\t').map(plainText).join('\t')
}

/** Splits bytes into lines. */
export class LineSplitter {
  readonly #decoder = new StringDecoder()
  readonly #take: (line: string) => void
  readonly #longest: number
  #rest = ''

  /** @param longest characters after which a line without an end is broken */
  constructor(take: (line: string) => void, longest = MAX_LINE) {
    this.#take = take
    this.#longest = longest
  }

  add(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.write(Buffer.from(chunk))).split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop() as string
    for (const line of lines) this.#take(line)
    while (this.#rest.length > this.#longest) {
      this.#take(this.#rest.slice(0, this.#longest))
      this.#rest = this.#rest.slice(this.#longest)
    }
  }

  /** Returns the rest, which has no line break at its end, as a line. */
  end(): void {
    const rest = (this.#rest + this.#decoder.end()).replace(/\r$/, '')
    this.#rest = ''
    if (rest !== '') this.#take(rest)
  }
}

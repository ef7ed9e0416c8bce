/**
 * Decides which lines of a service the terminal gets. The report of an error that ends the service is held back until
 * it is known that it does, because one line then says the same; the errors of a service whose callee is down are
 * shortened and counted. The page has all lines.
 */
import type { Downtime } from './downtime.ts'
import { isDetail, isOfReport, type Report, readReport, withoutCode } from './report.ts'

/**
 * Milliseconds for which errors, and lines that may be a report, wait for the end of the program, or for the news that
 * another one has ended.
 */
const HOLD = 250
/** An error that was printed more than this number of milliseconds before a program ends is not the reason for its end. */
const LAST = 1_000
const MAX_HELD = 500

/** The arguments from which an output is made. */
export interface OutputInit {
  readonly name: string
  /** The folder of the project. */
  readonly root: string
  readonly downtime: Downtime
  readonly write: (line: string) => void
}

/** Lines that a program has written at once. */
interface Chunk {
  readonly lines: readonly string[]
  readonly isError: boolean
}

/** The output of one service in the terminal. */
export class Output {
  readonly #init: OutputInit
  #held: Chunk[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #last: { readonly report: Report | undefined; readonly at: number } | undefined

  constructor(init: OutputInit) {
    this.#init = init
  }

  /** Takes lines that the program has written at once. @param isError whether to the error output */
  add(lines: readonly string[], isError: boolean): void {
    if (this.#held.length === 0 && !isError && !lines.some(isOfReport)) return this.#write({ lines, isError })
    this.#held.push({ lines, isError })
    if (this.#held.length > MAX_HELD) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), HOLD)
  }

  /** Writes the lines that are held back. */
  flush(): void {
    if (this.#held.length === 0) return
    this.#last = { report: this.#read(), at: performance.now() }
    for (const chunk of this.#take()) this.#write(chunk)
  }

  /** Returns the report of the error that has ended the program, whose lines are not written then. */
  report(): Report | undefined {
    const report = this.#read()
    if (report !== undefined) {
      this.#take()
      return report
    }
    this.flush()
    if (this.#last === undefined || performance.now() - this.#last.at >= LAST) return undefined
    // Its further lines were written already.
    return this.#last.report && { ...this.#last.report, more: [] }
  }

  /** Forgets the last error, because the program is started again. */
  starting(): void {
    this.flush()
    this.#last = undefined
  }

  #read(): Report | undefined {
    return readReport(
      this.#held.flatMap(({ lines }) => lines),
      this.#init.root
    )
  }

  #take(): readonly Chunk[] {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const held = this.#held
    this.#held = []
    return held
  }

  #write({ lines, isError }: Chunk): void {
    const { name, downtime, write } = this.#init
    if (!isError || !downtime.isOver(name)) for (const line of lines) write(line)
    else for (const head of headsOf(lines)) if (downtime.isNew(name, head)) write(head)
  }
}

/** The failures, without their places: one line for each. */
function headsOf(lines: readonly string[]): readonly string[] {
  const heads: string[] = []
  let joins = false
  for (const line of lines) {
    const head = withoutCode(line)
    if (head === '' || isDetail(head)) continue
    // Bun shows the cause of an error behind it, and the code before its message.
    if (head.startsWith('error: ') && heads.length > 0 && !joins) continue
    if (joins) heads.push(`${heads.pop()} ${head}`)
    else heads.push(head)
    joins = head !== line
  }
  return heads
}

/**
 * The record of the last hour, for charts that survive a reload of the page, and the times at which services have
 * changed, for comparing before and after.
 */
import type { Logger } from '@elysia-microservices/transport/kit'
import { fieldsOf } from '../bounds.ts'
import { Past, STEP, STEPS } from '../past.ts'
import { hasSqlite, PastFile } from '../past-file.ts'
import type { HistoryView, Mark, Overview, PastView, Sample } from '../protocol.ts'
import type { Source, SourceContext } from './source.ts'

const MAX_MARKS = 200
/** Largest number of processes that are remembered, to recognise new ones. */
const MAX_PROCESSES = 5_000
const HOUR = 3_600_000

/** The known versions and processes of a service. */
interface Known {
  readonly versions: Set<string>
  readonly processes: Set<string>
}

export class History implements Source<'history'> {
  readonly topic = 'history'
  readonly #past = new Past()
  readonly #known = new Map<string, Known>()
  #marks: readonly Mark[] = []
  #tell = () => {}
  readonly #file: PastFile | undefined
  readonly #logger: Logger
  /** Settles when the file was read. */
  #read: Promise<void> | undefined
  /** The first step that is not written yet, and the end of the current write. */
  #unwritten: number | undefined
  #writing: Promise<void> | undefined
  #hasFailed = false

  constructor({ history, logger }: Pick<SourceContext, 'history' | 'logger'>) {
    this.#logger = logger
    if (history === undefined) return
    if (hasSqlite()) this.#file = new PastFile(history)
    else this.#complain('this runtime has no SQLite, which Bun has, and Node from 22.13 on')
  }

  latest(): HistoryView {
    return { marks: this.#marks }
  }

  begin(tell: () => void): void {
    this.#tell = tell
    this.#read ??= this.#readFile()
  }

  sampled({ at, services }: Sample, overview: Overview): void {
    this.#past.add(at, services)
    const added = this.#newMarks(at, overview)
    const kept = this.#marks.filter((mark) => at - mark.at < HOUR)
    const isSame = added.length === 0 && kept.length === this.#marks.length
    if (!isSame) this.#marks = [...kept, ...added].slice(-MAX_MARKS)
    this.#keep(Math.floor(at / STEP))
    if (!isSame) this.#tell()
  }

  /**
   * Returns the last hour of a service: `{ id, pattern }`, with kind and pattern of one handler, or without a
   * pattern.
   * @throws {TypeError} the request is invalid
   */
  async ask(question: unknown): Promise<PastView> {
    const { id, pattern = '' } = fieldsOf(question)
    if (typeof id !== 'string' || typeof pattern !== 'string')
      throw new TypeError('The request needs the text id, and may have the text pattern')
    await this.#read
    return this.#past.of(id, pattern)
  }

  /** Writes steps that are over. A step that ends during a write is written with the next one. */
  #keep(step: number): void {
    const from = this.#unwritten ?? step
    this.#unwritten = from
    if (this.#file === undefined || step <= from || this.#writing !== undefined) return
    this.#unwritten = step
    const steps = Array.from({ length: Math.min(step - from, STEPS - 1) }, (_, index) => step - 1 - index)
    const figures = steps.flatMap((over) => [...this.#past.at(over)])
    this.#writing = this.#file
      .write(figures, this.#marks, step - STEPS)
      .catch((error) => this.#failed(error))
      .finally(() => {
        this.#writing = undefined
      })
  }

  /** Reads what an earlier process has kept. Never rejects. */
  async #readFile(): Promise<void> {
    if (this.#file === undefined) return
    const now = Date.now()
    const last = Math.floor(now / STEP)
    try {
      for await (const batch of this.#file.figures(last - STEPS))
        for (const kept of batch) if (kept.step <= last) this.#past.restore(kept)
      const marks = this.#file.marks().filter(({ at }) => at <= now && now - at < HOUR)
      this.#marks = [...marks, ...this.#marks].slice(-MAX_MARKS)
      this.#tell()
    } catch (error) {
      this.#failed(error)
    }
  }

  /** The file could not be read or written. A damaged one is put aside, and what is in memory goes into a new one. */
  #failed(error: unknown): void {
    try {
      if (this.#file?.isDamage(error) !== true) return this.#complain(error)
      const aside = this.#file.moveAside()
      this.#unwritten = Number.NEGATIVE_INFINITY
      this.#logger.warn(
        `The file options.history of the console was damaged (${(error as Error).message}): it is now ${aside}, and a new file begins`
      )
    } catch (reason) {
      this.#complain(reason)
    }
  }

  #complain(reason: unknown): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    const why = reason instanceof Error ? reason.message : String(reason)
    this.#logger.warn(`The console keeps its history in memory only, not in options.history: ${why}`)
  }

  #newMarks(at: number, { services }: Overview): Mark[] {
    const marks: Mark[] = []
    let size = 0
    for (const { service, instance = '', described } of services) {
      if (described === undefined || ++size > MAX_PROCESSES) continue
      const { version } = described
      const known = this.#known.get(service)
      if (known === undefined) {
        this.#known.set(service, { versions: new Set([version]), processes: new Set([instance]) })
        continue
      }
      const isNewVersion = !known.versions.has(version)
      if (!isNewVersion && known.processes.has(instance)) continue
      // The memory is limited, because an untrusted service may name another process or version each time.
      if (known.processes.size > 100) known.processes.clear()
      if (known.versions.size > 100) known.versions.clear()
      known.versions.add(version)
      known.processes.add(instance)
      marks.push({ at, service, what: isNewVersion ? 'version' : 'process', version })
    }
    return marks.slice(0, MAX_MARKS)
  }
}

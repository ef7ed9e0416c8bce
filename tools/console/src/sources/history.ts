/**
 * The record of the last hour, for charts that survive a reload of the page, and the times at which services have
 * changed, for comparing before and after.
 */
import { fieldsOf } from '../bounds.ts'
import { Past } from '../past.ts'
import type { HistoryView, Mark, Overview, PastView, Sample } from '../protocol.ts'
import type { Source } from './source.ts'

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

  latest(): HistoryView {
    return { marks: this.#marks }
  }

  begin(tell: () => void): void {
    this.#tell = tell
  }

  sampled({ at, services }: Sample, overview: Overview): void {
    this.#past.add(at, services)
    const added = this.#newMarks(at, overview)
    const kept = this.#marks.filter((mark) => at - mark.at < HOUR)
    if (added.length === 0 && kept.length === this.#marks.length) return
    this.#marks = [...kept, ...added].slice(-MAX_MARKS)
    this.#tell()
  }

  /**
   * Returns the last hour of a service: `{ id, pattern }`, with kind and pattern of one handler, or without a
   * pattern.
   * @throws {TypeError} the request is invalid
   */
  ask(question: unknown): PastView {
    const { id, pattern = '' } = fieldsOf(question)
    if (typeof id !== 'string' || typeof pattern !== 'string')
      throw new TypeError('The request needs the text id, and may have the text pattern')
    return this.#past.of(id, pattern)
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

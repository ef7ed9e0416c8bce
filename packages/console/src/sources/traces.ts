/** The last traces, for their screen and for the map: what OpenTelemetry's exporters send is taken here. */
import { fieldsOf } from '../bounds.ts'
import type { TraceLine, TracesView, TraceView } from '../protocol.ts'
import { Links } from '../traces/links.ts'
import { readLines, readSpans } from '../traces/otlp.ts'
import { readSearch, TraceStore } from '../traces/store.ts'
import type { Source } from './source.ts'

/** Traces that every page is told of. */
const MAX_LATEST = 30
/** Milliseconds between two times that pages are told. */
const PAUSE = 500
export class Traces implements Source<'traces'> {
  readonly topic = 'traces'
  readonly #store = new TraceStore()
  readonly #links = new Links()
  #tell: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  begin(tell: () => void): void {
    this.#tell = tell
  }

  rest(): void {
    this.#tell = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Time passes for what was sent lately. */
  sampled(): void {
    if (!this.#links.isEmpty) this.#changed()
  }

  latest(): TracesView {
    const latest = this.#store.find({ text: '', onlyErrors: false, longerThan: 0 }).slice(0, MAX_LATEST)
    return { kept: this.#store.size, dropped: this.#store.dropped, latest, links: this.#links.lately() }
  }

  ask(question: unknown): TraceView | null | readonly TraceLine[] {
    const fields = fieldsOf(question)
    const { trace } = fields
    if (typeof trace === 'string') return this.#store.get(trace) ?? null
    return this.#store.find(readSearch(fields))
  }

  /**
   * Takes a body of OTLP. Metrics are taken and thrown away, so that an exporter of all three has nothing to complain of.
   * @param signal what the last part of the path says
   */
  receive(signal: 'traces' | 'logs' | 'metrics', body: unknown): void {
    if (signal === 'metrics') return
    if (signal === 'logs') for (const line of readLines(body)) this.#store.addLine(line)
    else
      for (const span of readSpans(body)) {
        this.#store.add(span)
        this.#links.add(span, this.#store)
      }
    this.#changed()
  }

  #changed(): void {
    if (this.#tell === undefined) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#tell?.()
    }, PAUSE)
  }
}

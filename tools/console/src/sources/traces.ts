/** Collects the traces that OpenTelemetry exporters send here, for the screen of traces and for the map. */
import { fieldsOf } from '../bounds.ts'
import type { TraceLine, TracesView, TraceView } from '../protocol.ts'
import { Links } from '../traces/links.ts'
import { readLines, readSpans } from '../traces/otlp.ts'
import { readSearch, TraceStore } from '../traces/store.ts'
import type { Source } from './source.ts'

/** How many traces are sent to every page. */
const MAX_LATEST = 30
/** Milliseconds between two updates of pages. */
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

  /** Rates of recent messages change as time passes, so pages are updated. */
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
   * Takes the body of an OTLP request. Metrics are accepted and dropped, so that an exporter of all three signals
   * does not report errors.
   * @param signal the last part of the request's path
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

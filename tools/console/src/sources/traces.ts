/** Collects the traces that OpenTelemetry exporters send here, for the screen of traces and for the map. */
import { fieldsOf } from '../bounds.ts'
import type { Programs } from '../programs.ts'
import type { TraceLine, TracesView, TraceView } from '../protocol.ts'
import { addressOf, Links } from '../traces/links.ts'
import { readLines, readSpans } from '../traces/otlp.ts'
import { readSearch, TraceStore } from '../traces/store.ts'
import type { Source } from './source.ts'

/** How many traces are sent to every page. */
const MAX_LATEST = 30
/** Milliseconds between two updates of pages. */
const PAUSE = 500
const LOCAL = /^(?:localhost|127(?:\.\d+){3}|::1)$/

export class Traces implements Source<'traces'> {
  readonly topic = 'traces'
  readonly #store = new TraceStore()
  readonly #links: Links
  /** The names of programs by their ports, also while they do not listen. */
  readonly #names = new Map<string, string>()
  #tell: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(programs?: Programs) {
    this.#links = new Links((host, port = '') => {
      if (!LOCAL.test(host)) return addressOf(host, port)
      // A port is followed by what it is for.
      for (const { name, ports, services } of programs?.list() ?? [])
        for (const each of ports) this.#names.set(each.split(' ', 1)[0] ?? '', named(name, services))
      // This machine has several names and addresses, and each port is one peer.
      return this.#names.get(port) ?? addressOf('localhost', port)
    })
  }

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

/** The name of a program, or of the only service in it. */
function named(program: string, services: readonly string[]): string {
  return (services.length === 1 ? services[0] : undefined) ?? program
}

/** Sends the spans and lines of a process of `dev` to the page, as OTLP in JSON. */
import type { AsyncLocalStorage } from 'node:async_hooks'
import http from 'node:http'

/** As in `caller-name.ts`. */
const NAME = Symbol.for('elysia-microservices.name')
/** Milliseconds that spans wait for others. */
const PAUSE = 300
/** Spans and lines that wait; more are not made. */
const MAX_WAITING = 2_000

/** Sends spans and lines to a collector. */
export class Exporter {
  readonly #url: string
  readonly #service: string
  #spans: object[] = []
  #lines: object[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Is set while it sends: its own requests are none of the program's. */
  readonly #off: AsyncLocalStorage<unknown>

  constructor(url: string, service: string, place: AsyncLocalStorage<unknown>) {
    this.#url = url
    this.#off = place
    this.#service = service
  }

  span(span: object): void {
    if (this.#spans.length < MAX_WAITING) this.#spans.push(span)
    this.#later()
  }

  line(line: object): void {
    if (this.#lines.length < MAX_WAITING) this.#lines.push(line)
    this.#later()
  }

  #later(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => this.#send(), PAUSE)
    // It keeps no process alive.
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  #send(): void {
    this.#timer = undefined
    const [spans, logRecords] = [this.#spans, this.#lines]
    this.#spans = []
    this.#lines = []
    // The service's own name, if it has one: then it is the same on all screens.
    const own = (globalThis as { [NAME]?: string })[NAME]
    const resource = { attributes: [attribute('service.name', own ?? this.#service)] }
    if (spans.length > 0) this.#post('traces', { resourceSpans: [{ resource, scopeSpans: [{ spans }] }] })
    if (logRecords.length > 0)
      this.#post('logs', { resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] })
  }

  #post(signal: string, body: object): void {
    this.#off.run(undefined, () => {
      const request = http.request(`${this.#url}/v1/${signal}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        agent: false
      })
      request.on('response', (response) => response.resume())
      // Without a page nobody wants to know.
      request.on('error', () => {})
      request.on('socket', (socket) => socket.unref())
      request.end(JSON.stringify(body))
    })
  }
}

/** An attribute of a span, as OTLP writes it. */
export function attribute(key: string, stringValue: string): object {
  return { key, value: { stringValue } }
}

/** Sends the spans and log lines of a process that `dev` runs to the page, as OTLP in JSON. */
import type { AsyncLocalStorage } from 'node:async_hooks'
import http from 'node:http'

/** The same key as in `caller-name.ts`. */
const NAME = Symbol.for('elysia-microservices.name')
/** Milliseconds for which spans are collected before they are sent. */
const PAUSE = 300
/** Largest number of waiting spans and lines; further ones are dropped. */
const MAX_WAITING = 2_000

/** Sends spans and lines to a collector. */
export class Exporter {
  readonly #url: string
  readonly #service: string
  #spans: object[] = []
  #lines: object[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Marks the exporter's own requests, so that they are not traced. */
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
    // The timer must not keep the process alive.
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  #send(): void {
    this.#timer = undefined
    const [spans, logRecords] = [this.#spans, this.#lines]
    this.#spans = []
    this.#lines = []
    // The service's own name, if it has one, so that all screens show the same name.
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
      // Errors are ignored, because without a page nobody needs the spans.
      request.on('error', () => {})
      request.on('socket', (socket) => socket.unref())
      request.end(JSON.stringify(body))
    })
  }
}

/** An attribute of a span in OTLP's form. */
export function attribute(key: string, stringValue: string): object {
  return { key, value: { stringValue } }
}

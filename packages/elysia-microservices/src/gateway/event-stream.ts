/** Values of a service as Server-Sent Events, at the speed of their reader. */
import { type ErrorBody, NO_SNIFFING } from './error-response.ts'

/** The parts of an event stream. */
export interface EventStreamInit {
  /** Starts the stream; leaving it or aborting the signal gives it up. */
  readonly start: (signal: AbortSignal) => AsyncIterator<unknown>
  /** Aborts when the client of the request leaves. */
  readonly signal: AbortSignal
  /** Milliseconds of silence after which a comment is sent; `undefined` for none. */
  readonly heartbeat: number | undefined
  /** The body for a failure that comes after the beginning. */
  readonly bodyOf: (error: unknown) => ErrorBody
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  ...NO_SNIFFING,
  // Tells nginx, and what behaves like it, not to hold events back.
  'x-accel-buffering': 'no'
}
const COMMENT = ':\n\n'
/** By default a browser asks again when a stream ends; this lets a page know that there is no more. */
const END = 'event: end\ndata: null\n\n'

/** An event stream that was begun. */
export interface EventStream {
  readonly response: Response
  /** Ends it without `event: end`: a browser will ask again, and reach another instance. */
  close(): void
  /** Resolves when it is over, for whatever reason. */
  readonly closed: Promise<void>
}

/**
 * Resolves with the first value, the end or the first heartbeat, whichever comes first. A failure before that is
 * thrown, so that the response can have a status for it.
 */
export async function openEventStream(init: EventStreamInit): Promise<EventStream> {
  const stream = new Events(init)
  await stream.begun
  return stream
}

/** The next event. A failure is kept as a value too: while nobody awaits it, it would be an unhandled rejection. */
type Next = { readonly text: string; readonly isLast: boolean } | { readonly error: unknown }

class Events implements EventStream {
  readonly begun: Promise<void>
  readonly closed: Promise<void>
  readonly response: Response
  readonly #init: EventStreamInit
  readonly #values: AsyncIterator<unknown>
  readonly #giveUp = new AbortController()
  readonly #encoder = new TextEncoder()
  readonly #leave = () => this.close()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  /** The event that was asked for and not yet sent. */
  #next: Promise<Next> | undefined
  #settle: () => void = () => {}

  constructor(init: EventStreamInit) {
    this.#init = init
    this.closed = new Promise((resolve) => {
      this.#settle = resolve
    })
    this.response = new Response(
      new ReadableStream<Uint8Array>(
        {
          start: (controller) => {
            this.#controller = controller
          },
          pull: () => this.#pull(),
          cancel: () => {
            this.#controller = undefined
            this.close()
          }
        },
        // No room in the queue: values are only taken when the socket asks.
        { highWaterMark: 0 }
      ),
      { headers: HEADERS }
    )
    this.#values = init.start(this.#giveUp.signal)
    if (init.signal.aborted) this.close()
    else init.signal.addEventListener('abort', this.#leave, { once: true })
    this.begun = this.#begin()
  }

  close(): void {
    this.#init.signal.removeEventListener('abort', this.#leave)
    this.#controller?.close()
    this.#controller = undefined
    // An iterator that waits for a value cannot be left, but its call can be given up.
    this.#giveUp.abort()
    void this.#values.return?.().catch(() => {})
    this.#settle()
  }

  async #begin(): Promise<void> {
    const next = await this.#nextOrSilence()
    if (next === undefined || !('error' in next)) return
    this.close()
    throw next.error
  }

  async #pull(): Promise<void> {
    const next = await this.#nextOrSilence()
    // It was closed meanwhile.
    if (this.#controller === undefined) return
    if (next === undefined) return this.#send(COMMENT)
    this.#next = undefined
    const failed = 'error' in next
    this.#send(failed ? eventOf('error', this.#init.bodyOf(next.error)) : next.text)
    if (failed || next.isLast) this.close()
  }

  #send(text: string): void {
    this.#controller?.enqueue(this.#encoder.encode(text))
  }

  /** The next event, or `undefined` after a silence: the event is for the next time then. */
  async #nextOrSilence(): Promise<Next | undefined> {
    this.#next ??= this.#read()
    const { heartbeat } = this.#init
    if (heartbeat === undefined) return this.#next
    let timer: ReturnType<typeof setTimeout> | undefined
    const silence = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, heartbeat, undefined)
    })
    try {
      return await Promise.race([this.#next, silence])
    } finally {
      clearTimeout(timer)
    }
  }

  async #read(): Promise<Next> {
    try {
      const { value, done } = await this.#values.next()
      return done === true ? { text: END, isLast: true } : { text: eventOf(undefined, value), isLast: false }
    } catch (error) {
      return { error }
    }
  }
}

/** One event. `JSON.stringify` writes no line breaks, so one line of data is enough. */
function eventOf(name: string | undefined, value: unknown): string {
  const data = `data: ${JSON.stringify(value) ?? 'null'}\n\n`
  return name === undefined ? data : `event: ${name}\n${data}`
}

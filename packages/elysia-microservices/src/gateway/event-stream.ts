/** Sends the values of a service as Server-Sent Events, as fast as the HTTP client reads them. */
import { type ErrorBody, NO_SNIFFING } from './error-response.ts'

/** The options of an event stream. */
export interface EventStreamInit {
  /** Starts the stream. Leaving the iterator or aborting the signal cancels the call. */
  readonly start: (signal: AbortSignal) => AsyncIterator<unknown>
  /** Aborts when the HTTP client disconnects. */
  readonly signal: AbortSignal
  /** Milliseconds without a value after which a comment is sent; `undefined` to send none. */
  readonly heartbeat: number | undefined
  /** Makes the body of an error that occurs after the stream has begun. */
  readonly bodyOf: (error: unknown) => ErrorBody
}

/** The headers of an event stream. */
export const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  ...NO_SNIFFING,
  // Tells nginx, and proxies that understand the same header, not to buffer events.
  'x-accel-buffering': 'no'
}
const COMMENT = ':\n\n'
/**
 * The last event. A browser reconnects when a stream ends, so this event tells the page that there are no more
 * values.
 */
const END = 'event: end\ndata: null\n\n'

/** An event stream that has begun. */
export interface EventStream {
  readonly response: Response
  /** Closes the stream without `event: end`, so a browser reconnects, and reaches another instance. */
  close(): void
  /** Resolves when the stream is over, for any reason. */
  readonly closed: Promise<void>
}

/**
 * Resolves at the first value, the end or the first heartbeat, whichever comes first. A failure before that is
 * thrown, so that the response can still have an error status.
 * @param all streams that may be closed at any time; has this stream until it is over
 */
export async function openEventStream(
  init: EventStreamInit,
  all: Set<EventStream> = new Set()
): Promise<EventStream> {
  const stream = new Events(init)
  all.add(stream)
  void stream.closed.then(() => all.delete(stream))
  await stream.begun
  return stream
}

/**
 * The next event, or a failure. The failure is kept as a value, because a rejection that nobody awaits yet would
 * count as unhandled.
 */
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
  /** The next event, which has been requested but not sent yet. */
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
        // The queue holds nothing, so that a value is taken only when the socket has room.
        { highWaterMark: 0 }
      ),
      { headers: EVENT_STREAM_HEADERS }
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
    // An iterator that waits for a value cannot be left, so its call is canceled as well.
    this.#giveUp.abort()
    leave(this.#values)
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
    // The stream was closed in the meantime.
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

  /** The next event, or `undefined` after a time without values. In that case the event is returned by a later call. */
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

/** Leaves an iterator. Nobody waits for that, and a client that a user has written may fail at it. */
function leave(values: AsyncIterator<unknown>): void {
  try {
    void Promise.resolve(values.return?.()).catch(() => {})
  } catch {}
}

/** The text of one event. `JSON.stringify` writes no line breaks, so one line of data is enough. */
function eventOf(name: string | undefined, value: unknown): string {
  const data = `data: ${JSON.stringify(value) ?? 'null'}\n\n`
  return name === undefined ? data : `event: ${name}\n${data}`
}

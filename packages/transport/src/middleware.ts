/**
 * Middleware for messages on both ends, used for metrics, tracing and injected faults. A middleware gets the next function
 * and returns the function that is called in its place.
 */
import { type Answer, answerWith } from './answer.ts'
import type { Caller, CallOptions, CallReceiver, PassingOptions, StreamCall } from './call.ts'
import type { ConnectionListener } from './connection-event.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { DurableCaller, Published, PublishOptions } from './durable/published.ts'
import { describe, OptionError } from './errors/index.ts'
import { type MessageHeaders, textHeaders } from './headers.ts'
import type { IncomingMessage } from './message.ts'
import type { Pattern } from './pattern.ts'
import { consume, FEED, type Feed, type StreamSource } from './stream.ts'
import type { TransportStats } from './transport.ts'

/** The part of a message that a `Middleware` sees on both ends. */
export interface MiddlewareMessage {
  /** The name of the transport, such as `'tcp'`. */
  readonly transport: string
  /** `stream` occurs on the calling end only: a request whose caller takes all values. */
  readonly kind: 'request' | 'stream' | 'event'
  readonly pattern: string
  readonly data: unknown
  readonly headers: MessageHeaders
  /** Milliseconds for which the caller waits; `undefined` if the caller sets no limit. */
  readonly timeout: number | undefined
}

/** A message on the answering end, before its handler. */
export type ReceivedMessage = IncomingMessage
/** A message on the calling end, before it is sent. */
export interface SentMessage extends MiddlewareMessage {
  /** The options of the call. */
  readonly options: CallOptions | undefined
  /** A copy of this message with other headers, to pass to `next`. */
  withHeaders(headers: MessageHeaders): SentMessage
}

/**
 * Passes a message on and returns its result. On the answering end the result is that of the handler: a value, a
 * promise or a stream; for an event, nothing or a promise that settles when the event is handled. On the calling end
 * the result is a promise; if `kind` is `stream`, a stream or a promise of a stream. `tap` watches any of these
 * results.
 */
export type Handle<Message extends MiddlewareMessage> = (message: Message) => unknown

/**
 * Wraps the handling of messages that a service receives, or that a client sends.
 * @example
 * ```ts
 * import { AsyncLocalStorage } from 'node:async_hooks'
 * import type { Middleware, ReceivedMessage } from 'elysia-microservices'
 *
 * const tenants = new AsyncLocalStorage<string | undefined>()
 * const withTenant: Middleware<ReceivedMessage> = (next) => (message) =>
 * tenants.run(message.headers['tenant'], () => next(message))
 * ```
 */
export interface Middleware<Message extends MiddlewareMessage> extends Attached {
  (next: Handle<Message>): Handle<Message>
}
/** Wraps messages on either end: an `AnyMiddleware` uses only the fields of a message that both ends have. */
export interface AnyMiddleware extends Attached {
  <Message extends MiddlewareMessage>(next: Handle<Message>): Handle<Message>
}

/** Optional members of a middleware that needs to know more than messages. */
interface Attached {
  /** Gets the service or the client whose messages the middleware wraps: `wrap()` and `connect()` call `attach`. */
  attach?(end: WatchedService | WatchedClient): void
  /** Counts of the messages that this process has received, by handler, for `service.describe({ figures: true })`. */
  figures?(): readonly HandlerFigures[]
  /**
   * The middleware does not look at the values of answers. If no middleware of a client does, a gateway passes JSON on without
   * parsing it.
   * Default: false.
   */
  readonly ignoresValues?: boolean
}

/** Figures of the messages with one pattern since the start of the process. */
export interface HandlerFigures {
  readonly kind: 'message' | 'event'
  /** The pattern of the handler; `_OTHER` for all patterns beyond the limit of patterns that are counted. */
  readonly pattern: string
  /** Messages in flight that take longer than one turn of the event loop. */
  readonly inFlight: number
  /** Number of messages that ended with each code; `OK` is success. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Durations of all messages except streams. */
  readonly durations: DurationBuckets
  /** Durations of the streams that have ended; missing if no stream has ended. */
  readonly lifetimes?: DurationBuckets
}

/** Durations in buckets: `bounds` are upper bounds in seconds, and there is one more count than there are bounds. */
export interface DurationBuckets {
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
}

/** Figures of one pattern and one caller since these figures were requested for the first time. */
export interface CallerFigures {
  /**
   * The kind of caller. `client`: a client whose name is `caller`; `nest`: a program with Nest or another library over
   * an engine; `unnamed`: a client that sends no name; `engine`: the unknown sender of an event that came over an
   * engine; `others`: callers beyond the limit of callers that are counted.
   */
  readonly from: 'client' | 'nest' | 'unnamed' | 'engine' | 'others'
  /** Name of the client: untrusted text of at most 100 characters. */
  readonly caller?: string
  readonly kind: 'message' | 'event'
  /** The name of the transport. */
  readonly transport: string
  /** The pattern of the handler; empty for all messages without a handler. */
  readonly pattern: string
  /** Messages that have ended. */
  readonly count: number
  /** Number of messages that have failed. */
  readonly errors: number
  /** Sum of the durations of all messages; a stream counts until it begins. */
  readonly milliseconds: number
}

/** A service, as a middleware sees it. */
export interface WatchedService {
  /** Current figures of each transport of the service. */
  stats(): readonly TransportStats[]
  /** Says whether the service takes messages at the moment. */
  readonly status: ServiceStatus
}

/**
 * `stopped`: not started, or stopped; `starting`; `listening`: takes messages; `draining`: `stop()` was called, so the
 * service takes no new message and waits for the messages in flight to end.
 */
export type ServiceStatus = 'stopped' | 'starting' | 'listening' | 'draining'

/** A client, as a middleware sees it. */
export interface WatchedClient {
  /** Tells a listener of connections, retries and ejections. Returns a function that removes the listener. */
  onStatus(listener: ConnectionListener): () => void
}

/** Wraps a dispatcher in middleware, the first outermost. Without middleware it returns the dispatcher itself. */
export function wrapDispatcher(
  dispatcher: Dispatcher,
  middleware: readonly Middleware<ReceivedMessage>[]
): Dispatcher {
  if (middleware.length === 0) return dispatcher
  const handle = composeMiddleware(middleware, (message) => {
    message.isPassedOn = true
    return message.kind === 'event' ? dispatcher.event(message) : dispatcher.request(message)
  })
  return {
    routes: () => dispatcher.routes(),
    request: handle,
    event: handle as Dispatcher['event']
  }
}

/** The options for a call whose answer must be decoded, because a middleware reads its values. */
function reading(options: PassingOptions | undefined): CallOptions | undefined {
  return options?.leavesUnread === true ? ({ ...options, leavesUnread: false } as CallOptions) : options
}

/** Wraps a caller in middleware, the first outermost. Without middleware it returns the caller itself. */
export function wrapCaller(
  caller: Caller,
  middleware: readonly Middleware<SentMessage>[],
  transport: string
): Caller {
  if (middleware.length === 0) return caller
  const handle = composeMiddleware(middleware, (message) => (message as OutgoingMessage).send(caller))
  const mayLook = middleware.some(({ ignoresValues }) => ignoresValues !== true)
  const send = (kind: SentMessage['kind'], pattern: Pattern, data: unknown, options?: CallOptions) =>
    handle(new OutgoingMessage(transport, kind, pattern, data, options))
  return {
    request: async (pattern, data, options) =>
      send('request', pattern, data, mayLook ? reading(options) : options),
    emit: async (pattern, data, options) => void (await send('event', pattern, data, options)),
    stream(pattern, data, receiver, options) {
      const taken = new TakenStream(receiver)
      let stream: unknown
      try {
        stream = send('stream', pattern, data, options)
      } catch (error) {
        taken.error(error)
        return taken
      }
      answerWith(stream, taken)
      return taken
    }
  }
}

/**
 * Wraps the publishing of durable events in middleware, the first outermost. The middleware see a published event as an
 * event; its result is a promise of the engine's confirmation.
 */
export function wrapPublish(
  durable: DurableCaller,
  middleware: readonly Middleware<SentMessage>[],
  transport: string
): DurableCaller['publish'] {
  if (middleware.length === 0) return (pattern, data, options) => durable.publish(pattern, data, options)
  const handle = composeMiddleware(middleware, (message) => (message as OutgoingMessage).publish(durable))
  return async (pattern, data, options) =>
    (await handle(new OutgoingMessage(transport, 'event', pattern, data, options))) as Published
}

/**
 * Wraps `innermost` in middleware, the first outermost, and returns the function to call in its place.
 * @throws {OptionError} a middleware does not return a function
 */
export function composeMiddleware<Message extends MiddlewareMessage>(
  middleware: readonly Middleware<Message>[],
  innermost: Handle<Message>
): Handle<Message> {
  return middleware.reduceRight((next, middleware) => {
    const handle: unknown = middleware(next)
    if (typeof handle !== 'function')
      throw new OptionError(
        'The argument of wrap()',
        `A middleware${middleware.name === '' ? '' : ` (${middleware.name})`} must return the function to call for each message, (next) => (message) => next(message), but returns ${describe(handle)}`
      )
    return handle as Handle<Message>
  }, innermost)
}

class OutgoingMessage implements SentMessage {
  readonly transport: string
  readonly kind: SentMessage['kind']
  readonly data: unknown
  readonly options: CallOptions | undefined
  readonly #pattern: Pattern

  constructor(
    transport: string,
    kind: SentMessage['kind'],
    pattern: Pattern,
    data: unknown,
    options: CallOptions | undefined
  ) {
    this.transport = transport
    this.kind = kind
    this.#pattern = pattern
    this.data = data
    this.options = options
  }

  get pattern(): string {
    return typeof this.#pattern === 'object' ? JSON.stringify(this.#pattern) : String(this.#pattern)
  }

  get headers(): MessageHeaders {
    return textHeaders(this.options?.headers ?? {})
  }

  get timeout(): number | undefined {
    return this.options?.timeout || undefined
  }

  withHeaders(headers: MessageHeaders): OutgoingMessage {
    return new OutgoingMessage(this.transport, this.kind, this.#pattern, this.data, {
      ...this.options,
      headers
    })
  }

  publish(durable: DurableCaller): Promise<Published> {
    return durable.publish(this.#pattern, this.data, this.options as PublishOptions | undefined)
  }

  send(caller: Caller): unknown {
    const { kind, data, options } = this
    if (kind === 'request') return caller.request(this.#pattern, data, options)
    if (kind === 'event') return caller.emit(this.#pattern, data, options)
    return calledStream(caller, this.#pattern, data, options)
  }
}

/** Makes the values of a call a stream. The call is made when a reader begins to take values. */
function calledStream(
  caller: Caller,
  pattern: Pattern,
  data: unknown,
  options: CallOptions | undefined
): Feed {
  return { [FEED]: (sink) => caller.stream(pattern, data, sink, options) }
}

/**
 * Connects a stream, or a promise of a stream, to the receiver of a call. It keeps the demand until the promise has
 * resolved.
 */
class TakenStream implements Answer, StreamCall {
  readonly #receiver: CallReceiver
  #source: StreamSource | undefined
  #isCanceled = false
  /** Demand for values that was requested before the stream was there. */
  #requested = 0

  constructor(receiver: CallReceiver) {
    this.#receiver = receiver
  }

  value(value: unknown): void {
    this.error(OptionError.expected('The result of a middleware for a stream', 'a stream', value))
  }

  stream(stream: object): void {
    // The receiver has cancelled, and nothing has read from this stream yet, so there is nothing to end.
    if (this.#isCanceled) return
    const receiver = this.#receiver
    this.#source = consume(stream, {
      next: (value, size) => receiver.next(value, size) !== false,
      complete: () => receiver.complete(),
      error: (error) => receiver.error(error as Error),
      // A failed clean-up of the stream is ignored, because the call has already ended.
      teardownFailed() {}
    })
    this.#source.resume()
    if (this.#requested > 0) this.#source.request?.(this.#requested)
  }

  error(error: unknown): void {
    if (!this.#isCanceled) this.#receiver.error(error as Error)
  }

  cancel(): void {
    this.#isCanceled = true
    this.#source?.cancel()
  }

  resume(): void {
    this.#source?.resume()
  }

  request(n: number): void {
    if (this.#source === undefined) this.#requested += n
    else this.#source.request?.(n)
  }
}

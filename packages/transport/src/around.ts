/**
 * One shape for everything that stands around messages, on both ends: counting, faults on purpose, tracing. It gets
 * what comes next as a function, and gives the function that is called in its place.
 */
import type { Caller, CallOptions, CallReceiver, StreamCall } from './call.ts'
import type { ClientListener } from './client-event.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { Headers } from './headers.ts'
import type { IncomingMessage } from './message.ts'
import type { Pattern } from './pattern.ts'
import { consume, FEED, type Feed, type StreamSink, type StreamSource } from './stream.ts'
import type { TransportStats } from './transport.ts'

/** What an `Around` sees of a message, on either end. */
export interface AroundMessage {
  /** The name of the transport, such as `'tcp'`. */
  readonly transport: string
  /** `stream`: on the calling end, a request whose values are all wanted. */
  readonly kind: 'request' | 'stream' | 'event'
  readonly pattern: string
  readonly data: unknown
  readonly headers: Headers
  /** Milliseconds the caller waits; `undefined` if it does not say. */
  readonly timeout: number | undefined
}

/** A message on the answering end, before its handler. */
export type ReceivedMessage = IncomingMessage
/** A message on the calling end, before it is sent. */
export interface SentMessage extends AroundMessage {
  /** What the call was made with. */
  readonly options: CallOptions | undefined
  /** The same message with other headers: give it to `next` in place of this one. */
  withHeaders(headers: Headers): SentMessage
}

/**
 * Takes a message on. On the answering end it gives what the handlers give: a value, a promise or a stream, of an
 * event nothing or a promise of its end. On the calling end it gives a promise, of a `stream` a stream. `tap` watches
 * either.
 */
export type Handle<Message extends AroundMessage> = (message: Message) => unknown

/** Stands around messages: those that a service receives, or those that a client sends. */
export interface Around<Message extends AroundMessage> extends Attached {
  (next: Handle<Message>): Handle<Message>
}
/** Stands around messages on either end: it knows of a message what both ends know. */
export interface AroundAny extends Attached {
  <Message extends AroundMessage>(next: Handle<Message>): Handle<Message>
}

/** What an around may have beside its call, to see more than messages. */
interface Attached {
  /** Is told whose messages it stands around: `use()` and `connect()` call it. */
  attach?(end: WatchedService | WatchedClient): void
  /** What it has counted of the messages that this process received: for `service.describe({ figures: true })`. */
  figures?(): readonly HandlerFigures[]
}

/** What was counted of one pattern, since the process has begun. */
export interface HandlerFigures {
  readonly kind: 'message' | 'event'
  /** The pattern of the handler, or `_OTHER` for those that are not told apart. */
  readonly pattern: string
  /** Messages that have begun and not ended, and take more than the turn they came in. */
  readonly inFlight: number
  /** How many ended with each code; `OK` for those that ended well. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Durations in buckets: upper bounds in seconds, and one more count than there are bounds. */
  readonly durations: { readonly bounds: readonly number[]; readonly counts: readonly number[] }
}

/** A service, as an around sees it. */
export interface WatchedService {
  /** What each of its transports does at the moment. */
  stats(): readonly TransportStats[]
  /** Whether it takes messages at the moment. */
  readonly status: ServiceStatus
}

/**
 * `stopped`: not started, or stopped; `starting`; `listening`: takes messages; `draining`: `stop()` was called, takes no
 * more and lets work in flight end.
 */
export type ServiceStatus = 'stopped' | 'starting' | 'listening' | 'draining'

/** A client, as an around sees it. */
export interface WatchedClient {
  /** Tells a listener of connections, retries and ejections. Returns the function that ends it. */
  onEvent(listener: ClientListener): () => void
}

/** A dispatcher with what stands around it, the first outermost; itself if nothing does. */
export function aroundDispatcher(
  dispatcher: Dispatcher,
  arounds: readonly Around<ReceivedMessage>[]
): Dispatcher {
  if (arounds.length === 0) return dispatcher
  const handle = composeArounds(arounds, (message) =>
    message.kind === 'event' ? dispatcher.event(message) : dispatcher.request(message)
  )
  return {
    routes: () => dispatcher.routes(),
    request: handle,
    event: handle as Dispatcher['event']
  }
}

/** A caller with what stands around it, the first outermost; itself if nothing does. */
export function aroundCaller(
  caller: Caller,
  arounds: readonly Around<SentMessage>[],
  transport: string
): Caller {
  if (arounds.length === 0) return caller
  const handle = composeArounds(arounds, (message) => (message as OutgoingMessage).send(caller))
  const send = (kind: SentMessage['kind'], pattern: Pattern, data: unknown, options?: CallOptions) =>
    handle(new OutgoingMessage(transport, kind, pattern, data, options))
  return {
    request: async (pattern, data, options) => send('request', pattern, data, options),
    emit: async (pattern, data, options) => void (await send('event', pattern, data, options)),
    stream(pattern, data, receiver, options) {
      let stream: unknown
      try {
        stream = send('stream', pattern, data, options)
      } catch (error) {
        receiver.error(error as Error)
        return NO_CALL
      }
      return take(stream as object, receiver)
    }
  }
}

/** The function that is called in the place of `innermost`: the first around it is outermost. */
export function composeArounds<Message extends AroundMessage>(
  arounds: readonly Around<Message>[],
  innermost: Handle<Message>
): Handle<Message> {
  return arounds.reduceRight((next, around) => around(next), innermost)
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

  get headers(): Headers {
    return this.options?.headers ?? {}
  }

  get timeout(): number | undefined {
    return this.options?.timeout
  }

  withHeaders(headers: Headers): OutgoingMessage {
    return new OutgoingMessage(this.transport, this.kind, this.#pattern, this.data, {
      ...this.options,
      headers
    })
  }

  send(caller: Caller): unknown {
    const { kind, data, options } = this
    if (kind === 'request') return caller.request(this.#pattern, data, options)
    if (kind === 'event') return caller.emit(this.#pattern, data, options)
    return new CalledStream(caller, this.#pattern, data, options)
  }
}

/** The values of a call as a stream: the call is made when somebody takes them. */
class CalledStream implements Feed {
  readonly #caller: Caller
  readonly #pattern: Pattern
  readonly #data: unknown
  readonly #options: CallOptions | undefined

  constructor(caller: Caller, pattern: Pattern, data: unknown, options: CallOptions | undefined) {
    this.#caller = caller
    this.#pattern = pattern
    this.#data = data
    this.#options = options
  }

  [FEED](sink: StreamSink): StreamSource {
    return this.#caller.stream(this.#pattern, this.#data, sink, this.#options)
  }
}

const NO_CALL: StreamCall = { cancel() {}, resume() {}, request() {} }

/** Gives the values of a stream to the receiver of a call. */
function take(stream: object, receiver: CallReceiver): StreamCall {
  const source = consume(stream, {
    next: (value) => receiver.next(value) !== false,
    complete: () => receiver.complete(),
    error: (error) => receiver.error(error as Error),
    // What a call does to be given up does not fail.
    teardownFailed() {}
  })
  source.resume()
  return {
    cancel: () => source.cancel(),
    resume: () => source.resume(),
    request: (n) => source.request?.(n)
  }
}

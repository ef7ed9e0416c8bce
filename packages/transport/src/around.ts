/**
 * One shape for everything that stands around messages, on both ends: counting, faults on purpose, tracing. It gets
 * what comes next as a function, and gives the function that is called in its place.
 */
import { type Answer, answerWith } from './answer.ts'
import type { Caller, CallOptions, CallReceiver, StreamCall } from './call.ts'
import type { Dispatcher } from './dispatcher.ts'
import { OptionError } from './errors/index.ts'
import type { Headers } from './headers.ts'
import type { IncomingMessage } from './message.ts'
import type { Pattern } from './pattern.ts'
import { consume, FEED, type Feed, type StreamSink, type StreamSource } from './stream.ts'

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
 * event nothing or a promise of its end. On the calling end it gives a promise, of a `stream` a stream or a promise of one. `tap` watches
 * either.
 */
export type Handle<Message extends AroundMessage> = (message: Message) => unknown

/** Stands around messages: those that a service receives, or those that a client sends. */
export type Around<Message extends AroundMessage> = (next: Handle<Message>) => Handle<Message>
/** Stands around messages on either end: it knows of a message what both ends know. */
export type AroundAny = <Message extends AroundMessage>(next: Handle<Message>) => Handle<Message>

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

/** A stream on its way to the receiver of a call. It may be promised: what is asked of it meanwhile is kept. */
class TakenStream implements Answer, StreamCall {
  readonly #receiver: CallReceiver
  #source: StreamSource | undefined
  #isCanceled = false
  /** Values asked for before there was a stream to ask. */
  #requested = 0

  constructor(receiver: CallReceiver) {
    this.#receiver = receiver
  }

  value(value: unknown): void {
    this.error(OptionError.expected('What an around gives for a stream', 'a stream', value))
  }

  stream(stream: object): void {
    // Nobody has begun to take it, so there is nothing to end.
    if (this.#isCanceled) return
    const receiver = this.#receiver
    this.#source = consume(stream, {
      next: (value) => receiver.next(value) !== false,
      complete: () => receiver.complete(),
      error: (error) => receiver.error(error as Error),
      // What a call does to be given up does not fail.
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

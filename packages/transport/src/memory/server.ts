/** The answering side of the memory transport. */

import { answerWith } from '../answer.ts'
import { INPUT_REFUSED, InputStream } from '../calls/input-stream.ts'
import type { Codec, Encoded } from '../codec/codec.ts'
import type { Dispatcher } from '../dispatcher.ts'
import { canceledByCaller, serviceStopped } from '../errors/ended.ts'
import { ProtocolError, RpcError } from '../errors/index.ts'
import { isNoHandler, isRejected } from '../failure.ts'
import { cleanUpFailed } from '../handler-failed.ts'
import { IncomingMessage } from '../message.ts'
import { OutgoingValues } from '../outgoing-values.ts'
import type { EventSender } from '../report-event.ts'
import { type RunningAnswer, RunningMessages } from '../running-messages.ts'
import type { ServerContext, ServerTransport, StopOptions, TransportStats } from '../transport.ts'
import { routeMatches } from '../wildcards.ts'
import { errorToText } from '../wire-error.ts'
import { type MemoryConsumer, memoryConsumers } from './durable-server.ts'
import {
  decode,
  encode,
  type MemoryCaller,
  type MemoryEnd,
  type MemoryHub,
  type MemoryRequest,
  type Wanted
} from './hub.ts'
import type { MemoryMessage } from './memory-message.ts'
import { TurnRoom } from './turn-room.ts'

const MAX_HELD_SIZE = 134_217_728

/** Answers the requests of clients in the same process. */
export class MemoryServer implements ServerTransport, MemoryEnd {
  readonly name = 'memory'
  readonly isDurable = true
  readonly #hub: MemoryHub
  readonly #context: ServerContext
  readonly #running = new RunningMessages()
  #dispatcher: Dispatcher | undefined
  #consumers: readonly MemoryConsumer[] = []

  constructor(hub: MemoryHub, context: ServerContext) {
    this.#hub = hub
    this.#context = context
  }

  /** Identifies the service: all its servers have the same value, and each event goes to one of them. */
  get service(): unknown {
    return this.#context.group ?? this.#context.name ?? this
  }

  async start(dispatcher: Dispatcher): Promise<void> {
    const consumers = memoryConsumers(this.#hub, dispatcher, this.#context)
    this.#dispatcher = dispatcher
    this.#consumers = consumers
    this.#hub.add(this)
  }

  begin(): void {
    for (const consumer of this.#consumers) consumer.begin()
  }

  async stop({ drain }: StopOptions = {}): Promise<void> {
    this.#hub.remove(this)
    const consumers = this.#consumers
    await this.#running.drained(drain, ...consumers.map((consumer) => consumer.stop()))
    for (const consumer of consumers) consumer.cut()
    this.#consumers = []
  }

  stats(): TransportStats {
    return {
      transport: 'memory',
      address: undefined,
      inFlight: { current: this.#inFlight, limit: false },
      streams: this.#running.streams,
      ...(this.#consumers.length > 0 && { durable: this.#consumers.map(({ figures }) => figures) })
    }
  }

  /**
   * Answers a request.
   * @param opened is called with the running request, before its handler
   * @throws {PatternNotFoundError} this server has no handler for the pattern
   */
  request(
    message: MemoryMessage,
    wanted: Wanted,
    caller: MemoryCaller,
    opened: (request: MemoryRequest) => void
  ): void {
    const { logger } = this.#context
    const running = this.#running
    const { isSingle } = wanted
    const request = new RunningRequest(this.#hub.openCodec(), caller, wanted, logger, running)
    const data =
      message.data === undefined ? request.openInput() : decode(this.#hub.openCodec(), message.data)
    const incoming = this.#incoming(message, 'request', data)
    request.message = incoming
    opened(request)
    let result: unknown
    try {
      result = (this.#dispatcher as Dispatcher).request(incoming)
    } catch (error) {
      if (isNoHandler(error)) throw error
      running.begin(request, !isSingle)
      return request.error(error)
    }
    running.begin(request, !isSingle)
    answerWith(result, request)
  }

  /**
   * Handles an event.
   * @param sender is told of a refusal
   */
  event(message: MemoryMessage, isStored: boolean, sender: EventSender | undefined): void {
    if (isStored && !this.takes(message.route)) return
    const data = decode(this.#hub.openCodec(), message.data as Uint8Array)
    const incoming = this.#incoming(message, 'event', data)
    this.#running.event(this.#dispatcher as Dispatcher, incoming, this.#context.logger, undefined, sender)
  }

  takes(route: string): boolean {
    const routes = this.#dispatcher?.routes() ?? []
    return routes.some(
      (one) => one.durable === undefined && (one.route === undefined || routeMatches(one.route, route))
    )
  }

  get #inFlight(): number {
    return this.#consumers.reduce((sum, { running }) => sum + running, this.#running.inFlight)
  }

  #incoming(message: MemoryMessage, kind: 'request' | 'event', data: unknown): IncomingMessage {
    const { pattern, route, headers: metadata, timeout, lifetime, source } = message
    const from = source && { replyTo: '', callers: { sourceOf: () => source } }
    return new IncomingMessage({
      transport: 'memory',
      kind,
      pattern,
      route,
      data,
      metadata,
      timeout,
      lifetime,
      arrivedAt: lifetime === undefined ? undefined : performance.now(),
      from
    })
  }
}

/** One running request. */
class RunningRequest extends OutgoingValues implements MemoryRequest, RunningAnswer {
  protected readonly maxHeldSize = MAX_HELD_SIZE
  readonly #codec: Codec
  readonly #caller: MemoryCaller
  readonly #logger: ServerContext['logger']
  readonly #running: RunningMessages
  message: IncomingMessage | undefined
  #input: { readonly stream: InputStream; readonly codec: Codec } | undefined
  readonly #room = new TurnRoom(() => this.resume())

  constructor(
    codec: Codec,
    caller: MemoryCaller,
    { demand, isSingle, window }: Wanted,
    logger: ServerContext['logger'],
    running: RunningMessages
  ) {
    super(demand, isSingle, window)
    this.#codec = codec
    this.#caller = caller
    this.#logger = logger
    this.#running = running
  }

  /** Opens the input of a channel for the handler: the stream of values that the caller sends. */
  openInput(): InputStream {
    const stream = new InputStream(
      (n) => this.#caller.inputWanted(n),
      () => this.#caller.inputWanted(0)
    )
    this.#input = { stream, codec: this.#codec }
    return stream
  }

  cancel(): void {
    this.#input?.stream.end({ error: canceledByCaller() })
    this.abort()
  }

  /** The server stops and waits no longer for the handler. */
  cut(): void {
    this.#input?.stream.end({ error: serviceStopped() })
    this.abort(() => this.#caller.lost())
  }

  input(bytes: Uint8Array): void {
    if (this.#input === undefined) return
    const { stream, codec } = this.#input
    let value: unknown
    try {
      value = decode(codec, bytes)
    } catch (error) {
      // The value is nested too deeply.
      return stream.end({ error: error as Error })
    }
    if (stream.push(value, bytes.length)) return
    stream.end({ error: new ProtocolError(INPUT_REFUSED) })
    this.error(new RpcError({ code: 'INVALID', message: INPUT_REFUSED }))
  }

  inputEnded(failure?: Error): void {
    this.#input?.stream.end(failure === undefined ? undefined : { error: failure })
  }

  teardownFailed(error: unknown): void {
    this.#logger.error(cleanUpFailed(this.message), error)
  }

  protected send(value: unknown, isLast: boolean): void {
    const bytes = encode(this.#codec, value)
    this.#tellSet(isLast)
    this.hasSent(bytes.length)
    this.sendHeld(bytes)
    if (isLast) this.#caller.end()
  }

  protected encode(value: unknown): Encoded {
    const encoded = this.#codec.encode(value)
    this.#tellSet(false)
    return encoded
  }

  /** Sends the headers that the handler has set, before the value or the end to which they belong. */
  #tellSet(isLast: boolean): void {
    const json = this.message?.takeSet(isLast)
    if (json !== undefined) this.#caller.set(json)
  }

  protected sendHeld(bytes: Uint8Array): void {
    this.#room.use(bytes.length)
    this.#caller.value(bytes)
    this.message?.begins()
  }

  protected sendEnd(): void {
    this.#tellSet(true)
    this.#caller.end()
  }

  protected sendError(error: unknown): void {
    this.#tellSet(true)
    const text = errorToText(error, this.#logger, this.message)
    this.#caller.error(text, isRejected(error))
  }

  protected sendUnencodable(cause: unknown): void {
    this.sendError(new Error('The result of a handler cannot be encoded', { cause }))
  }

  protected hasRoom(): boolean {
    return this.#room.isLeft
  }

  protected over(isAborted: boolean): void {
    if (this.#input?.stream.close() === true) this.#caller.inputWanted(0)
    if (isAborted) this.message?.abort(this.#logger)
    this.#running.end(this)
  }
}

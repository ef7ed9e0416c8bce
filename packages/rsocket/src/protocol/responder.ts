/**
 * The answering side of an RSocket connection: reads request frames, calls handlers, sends PAYLOAD and ERROR frames.
 * This is the hot path of every server: a request whose handler returns a plain value is answered in the turn in which
 * it arrived, without a promise, a closure or a stream object.
 */
import {
  answerWith,
  type Codec,
  callersTimeOver,
  canceledByCaller,
  type Dispatcher,
  type EventSender,
  INPUT_REFUSED,
  IncomingMessage,
  InputStream,
  isStream,
  isThenable,
  type Logger,
  type Peer,
  ProtocolError,
  quietLog,
  reportEvent,
  SlotTable,
  shown,
  type Timer
} from '@elysia-microservices/transport/kit'
import type { SharedLimits } from '../limits/server-limits.ts'
import { admit, type Judge } from './authenticate.ts'
import { answerCodec, codecOf } from './codecs.ts'
import { sendEventRefusal, sendFailure, sendUnencodable, toWireError } from './failure-codes.ts'
import { ErrorCode, Flag, FrameType } from './frame-type.ts'
import { dataOf, type Payload, sizeOf } from './payload.ts'
import {
  dataMimeTypeMetadata,
  type MetadataReader,
  NO_METADATA,
  type RequestMetadata
} from './request-metadata.ts'
import {
  metadataOfAnswer,
  type RequestFrame,
  RunningRequest,
  type RunningRequestInit,
  type RunningRequestOwner,
  sendEnd
} from './running-request.ts'
import type { ServerGate } from './server-gate.ts'
import { sequenceOf, type Wire } from './wire.ts'

/** The parameters of a responder. */
export interface ResponderInit {
  /** The name of the transport, as messages have it. */
  readonly transport: string
  readonly wire: Wire
  readonly dispatcher: Dispatcher
  readonly logger: Logger
  /** The other end, as handlers get it; `undefined` on a client. */
  readonly peer: Peer | undefined
  /** The codec of data that does not name its own MIME type. */
  readonly codec: Codec
  readonly metadata: MetadataReader
  /** Called for requests with credentials. */
  readonly authenticate: Judge | undefined
  readonly timer: Timer
  readonly limits: SharedLimits
  /** Decides whether a request may start; `undefined`: every request may. */
  readonly gate: ServerGate | undefined
  /** Milliseconds that callers wait who do not say for how long; `undefined`: for ever. */
  readonly defaultTimeout?: number | undefined
  /** Whether the other side is told of events that are refused, as clients of this library are. */
  readonly tellsRefusals: boolean
  /** Called when a request or an event has ended. */
  settled(): void
}

/** Answers the requests of one connection. */
export class RSocketResponder implements RunningRequestOwner, EventSender {
  readonly wire: Wire
  readonly logger: Logger
  readonly #init: ResponderInit
  readonly #dispatcher: Dispatcher
  readonly #codec: Codec
  readonly #maxHeaderSize: number
  /** Requests that take more than one turn, by stream id. */
  readonly #running = new SlotTable<RunningRequest>()
  /** Number of streams among these requests. */
  #streams = 0
  #events = 0
  /** When the bytes arrived that are read now; 0: no request has needed to know. */
  #arrivedAt = 0
  readonly #eventEnded = () => {
    this.#events--
    this.#init.settled()
  }

  constructor(init: ResponderInit) {
    this.#init = init
    this.wire = init.wire
    this.#dispatcher = init.dispatcher
    this.#codec = init.codec
    this.#maxHeaderSize = init.limits.maxHeaderSize
    this.logger = init.logger
  }

  /** Number of requests and events in flight. */
  get inFlight(): number {
    return this.#running.size + this.#events
  }

  /** Number of events in flight. */
  get events(): number {
    return this.#events
  }

  /** Number of open streams. */
  get streams(): number {
    return this.#streams
  }

  /** Bytes have arrived. Their requests share one look at the clock, which costs about 4 % of a short request. */
  arrived(): void {
    this.#arrivedAt = 0
  }

  // ── frames of the caller ─────────────────────────────────────────────────────────────────────────────

  /** Handles a whole request. */
  request(frame: RequestFrame, payload: Payload): void {
    const { streamId, type } = frame
    // "Receiving a Request frame on a Stream ID that is already in use MUST be ignored."
    if (this.#running.get(sequenceOf(streamId)) !== undefined) return
    const headerSize = payload.metadataEnd - payload.metadataStart
    if (headerSize > this.#maxHeaderSize) return this.#refuseHeaders(frame, headerSize)
    const { buffer, metadataStart, metadataEnd } = payload
    const metadata =
      metadataStart < 0 ? NO_METADATA : this.#init.metadata.read(buffer, metadataStart, metadataEnd)
    let codec: Codec
    let data: unknown
    try {
      codec = metadata.dataMimeType === undefined ? this.#codec : codecOf(this.#codec, metadata.dataMimeType)
      data = dataOf(payload, codec)
    } catch (error) {
      // The sender of an event may not hear of it, so the error is logged.
      if (type === FrameType.REQUEST_FNF)
        quietLog(this.#init.logger).error(
          'unreadable',
          `The data of the event '${shown(metadata.route ?? '')}' cannot be read`,
          error
        )
      return this.#refuseInvalid(frame, (error as Error).message, metadata.route)
    }
    const { gate } = this.#init
    const mayStart = gate === undefined || gate.isOpen
    const isEvent = type === FrameType.REQUEST_FNF
    const isStreaming = type === FrameType.REQUEST_STREAM || type === FrameType.REQUEST_CHANNEL
    const refusal =
      (mayStart ? undefined : gate.refuse(this.inFlight, isEvent)) ??
      (isStreaming ? this.#refuseStream() : undefined)
    if (refusal !== undefined) {
      if (!isEvent) this.wire.error(streamId, ErrorCode.REJECTED, refusal)
      else this.#tellRefusal(streamId, metadata.route, ErrorCode.REJECTED, refusal)
      return
    }
    if (isEvent) this.#event(streamId, data, metadata)
    else if (type === FrameType.REQUEST_CHANNEL) this.#channel(frame, codec, data, metadata, sizeOf(payload))
    else this.#answer(frame, codec, data, metadata, undefined)
  }

  /** Handles a PAYLOAD from the caller of a channel. */
  payload(streamId: number, flags: number, payload: Payload): void {
    const request = this.#running.get(sequenceOf(streamId))
    const input = request?.input
    if (request === undefined || input === undefined) return
    if (flags & Flag.NEXT) {
      let value: unknown
      try {
        value = dataOf(payload, request.inputCodec)
      } catch (error) {
        this.wire.error(streamId, ErrorCode.INVALID, (error as Error).message)
        return this.cancel(streamId, error as Error)
      }
      if (!input.push(value, sizeOf(payload))) {
        this.wire.error(streamId, ErrorCode.INVALID, INPUT_REFUSED)
        return this.cancel(streamId, new ProtocolError(INPUT_REFUSED))
      }
    }
    if (flags & Flag.COMPLETE) input.end()
  }

  requestN(streamId: number, n: number): void {
    this.#running.get(sequenceOf(streamId))?.requestN(n)
  }

  /**
   * The caller has cancelled, or its side of a channel has failed.
   * @param failure the error of the caller's side. Default: the caller has cancelled
   */
  cancel(streamId: number, failure?: Error): void {
    const request = this.#running.get(sequenceOf(streamId))
    if (request === undefined) return
    request.input?.end({ error: failure ?? canceledByCaller() })
    request.abort()
  }

  // ── called by the connection ─────────────────────────────────────────────────────────────────────────

  /** Stops requests whose deadline has passed. That of a stream that has begun is the end of its lifetime. */
  expire(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const request of this.#running.all()) {
      const { deadline } = request
      if (deadline === undefined) continue
      if (deadline > now) next = Math.min(next, deadline)
      else {
        this.wire.error(request.streamId, ErrorCode.CANCELED, 'The deadline of the request has passed')
        request.input?.end({ error: callersTimeOver(request.allowed) })
        request.abort()
      }
    }
    this.#init.timer.wakeAt(next)
  }

  /** The connection was resumed over another socket, of which streams that have waited know nothing. */
  goOn(): void {
    for (const request of this.#running.all()) request.resume()
  }

  /**
   * The connection has ended: stops all running requests.
   * @param lost makes the error with which the inputs of channels end
   */
  close(lost: (mayHaveRun: boolean) => Error): void {
    for (const request of this.#running.all()) {
      request.input?.end({ error: lost(true) })
      request.abort()
    }
  }

  // ── a request, from its refusal to its answer ────────────────────────────────────────────────────────

  /** The reason for which a stream may not begin; `undefined` if it may. */
  #refuseStream(): string | undefined {
    const { limits } = this.#init
    if (this.#streams < limits.maxStreams) return undefined
    const reason = `The connection has as many streams as limits.streams allows (${limits.maxStreams})`
    limits.refused('streams', reason)
    return reason
  }

  /** Refuses a request whose metadata is too long. */
  #refuseHeaders(frame: RequestFrame, size: number): void {
    const reason = `The metadata of the request has ${size} bytes; limits.headerSize allows ${this.#maxHeaderSize}`
    this.#init.limits.refused('headers', reason)
    this.#refuseInvalid(frame, reason)
  }

  /** Refuses an invalid request, for which a retry would not help. */
  #refuseInvalid({ streamId, type }: RequestFrame, reason: string, route?: string): void {
    if (type !== FrameType.REQUEST_FNF) this.wire.error(streamId, ErrorCode.INVALID, reason)
    else this.#tellRefusal(streamId, route, ErrorCode.INVALID, reason)
    // The request has used one request of the caller's lease, although it is refused.
    this.#init.gate?.refuse(this.inFlight)
    this.#init.settled()
  }

  #message(data: unknown, metadata: RequestMetadata, kind: 'request' | 'event'): IncomingMessage {
    const { route = '', headers, lifetime } = metadata
    const { transport, peer, defaultTimeout } = this.#init
    const told = metadata.timeout ?? (kind === 'event' ? undefined : defaultTimeout)
    const timeout = told === 0 ? undefined : told
    if ((timeout ?? lifetime) !== undefined && this.#arrivedAt === 0) this.#arrivedAt = this.#init.timer.now()
    return new IncomingMessage({
      transport,
      kind,
      pattern: route,
      route,
      data,
      metadata: headers,
      timeout,
      lifetime,
      arrivedAt: this.#arrivedAt,
      peer
    })
  }

  #tellRefusal(streamId: number, route: string | undefined, code: number, data: string): void {
    if (this.#init.tellsRefusals) sendEventRefusal(this.wire, streamId, route ?? '', { code, data })
  }

  eventRefused(streamId: number, message: IncomingMessage, error: unknown): void {
    sendEventRefusal(this.wire, streamId, message.pattern, toWireError(error, this.logger, message))
  }

  #event(streamId: number, data: unknown, metadata: RequestMetadata): void {
    const { logger, tellsRefusals } = this.#init
    const message = this.#message(data, metadata, 'event')
    const dispatcher =
      metadata.credentials === undefined
        ? this.#dispatcher
        : { event: () => this.#authenticated(message, metadata) as Promise<void> }
    this.#events++
    reportEvent(dispatcher, message, logger, this.#eventEnded, tellsRefusals ? this : undefined, streamId)
  }

  #channel(frame: RequestFrame, codec: Codec, first: unknown, metadata: RequestMetadata, size: number): void {
    const { streamId, complete } = frame
    const input = new InputStream(
      (n) => this.wire.requestN(streamId, n),
      () => this.wire.cancel(streamId)
    )
    // A channel that is complete at once and has no data has no values.
    const hasFirst = first !== undefined || !complete
    // "A Responder MUST respond to an initial REQUEST_CHANNEL frame with a REQUEST_N frame": the first value asks for more.
    if (hasFirst) input.push(first, size)
    else input.ask()
    if (complete) input.end()
    this.#answer(frame, codec, input, metadata, input)
  }

  #answer(
    frame: RequestFrame,
    requestCodec: Codec,
    data: unknown,
    metadata: RequestMetadata,
    input: InputStream | undefined
  ): void {
    const { streamId } = frame
    const { acceptMimeTypes } = metadata
    const codec =
      acceptMimeTypes.length === 0 ? requestCodec : answerCodec(this.#codec, requestCodec, acceptMimeTypes)
    const announced = codec === requestCodec ? undefined : dataMimeTypeMetadata(codec.mimeType)
    const message = this.#message(data, metadata, 'request')
    let result: unknown
    try {
      result =
        metadata.credentials === undefined
          ? this.#dispatcher.request(message)
          : this.#authenticated(message, metadata)
      if (typeof result === 'object' && result !== null && (isThenable(result) || isStream(result)))
        return this.#run(result, {
          frame,
          codec,
          inputCodec: requestCodec,
          message,
          metadata: announced,
          window: metadata.window,
          input
        })
    } catch (error) {
      sendFailure(this.wire, streamId, error, this.#init.logger, message)
      input?.close()
      return this.#init.settled()
    }
    // As in Nest, a handler that returns `undefined` for a stream gives no value.
    const isEmpty = result === undefined && frame.type !== FrameType.REQUEST_RESPONSE
    if (isEmpty) sendEnd(this.wire, streamId, message)
    const isAnswered = isEmpty || this.#sendValue(message, streamId, codec, announced, result)
    // The answer does not close the caller's side of a channel, so CANCEL is sent.
    if (input?.close() === true && isAnswered) this.wire.cancel(streamId)
    this.#init.settled()
  }

  /** Runs a request whose answer takes more than this turn. */
  #run(result: object, init: RunningRequestInit): void {
    const request = new RunningRequest(this, init)
    this.#running.put(request)
    if (!request.isSingle) this.#streams++
    const { timeout, lifetime } = request.message
    if (lifetime !== undefined) request.endsAt = this.#arrivedAt + lifetime
    if (timeout !== undefined) request.deadline = this.#arrivedAt + timeout
    else request.deadline = request.endsAt
    if (request.deadline !== undefined) this.#init.timer.wakeAt(request.deadline)
    answerWith(result, request)
  }

  ended(request: RunningRequest): void {
    this.#running.delete(request)
    if (!request.isSingle) this.#streams--
    this.#init.settled()
  }

  /** Calls the hook with the credentials of a message, then calls the handler. */
  async #authenticated(message: IncomingMessage, { credentials, route }: RequestMetadata): Promise<unknown> {
    const { authenticate, peer } = this.#init
    await admit(authenticate, { credentials, route, peer })
    return message.kind === 'event' ? this.#dispatcher.event(message) : this.#dispatcher.request(message)
  }

  /** Answers with one value. Returns false if the answer became an error. */
  #sendValue(
    message: IncomingMessage,
    streamId: number,
    codec: Codec,
    metadata: Uint8Array | undefined,
    value: unknown
  ): boolean {
    try {
      const data = codec.encode(value)
      this.wire.payload(streamId, Flag.NEXT | Flag.COMPLETE, metadataOfAnswer(metadata, message, true), data)
      return true
    } catch (error) {
      sendUnencodable(this.wire, streamId, error, this.#init.logger, message)
      return false
    }
  }
}

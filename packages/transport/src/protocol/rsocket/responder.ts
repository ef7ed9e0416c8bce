/**
 * The answering side of an RSocket connection: request frames in, handlers called, PAYLOAD and ERROR frames
 * out. Hot path of every server: a request whose handler returns a plain value is answered in the turn it
 * came, without a promise, a closure or a stream object.
 */
import type { Codec } from '../../codec/codec.ts'
import type { Codecs } from '../../codec/codecs.ts'
import { type Connection, type Dispatcher, IncomingMessage, NO_HANDLER } from '../../dispatch.ts'
import { PatternNotFoundError, ProtocolError, RejectedError } from '../../errors.ts'
import type { SharedLimits } from '../../limits/server-limits.ts'
import type { Logger } from '../../logger.ts'
import { isStream, isThenable } from '../../result.ts'
import type { Timer } from '../connection.ts'
import { noHandlerError, toWireError } from './failure-codes.ts'
import type { FrameSender } from './frame-sender.ts'
import { ErrorCode, Flag, FrameType, MAX_UINT31 } from './frame-type.ts'
import { INPUT_WINDOW, InputStream } from './input-stream.ts'
import type { Authenticate } from './options.ts'
import type { RawPayload } from './reassembly.ts'
import {
  dataMimeTypeMetadata,
  type MetadataReader,
  NO_METADATA,
  type RequestMetadata
} from './request-metadata.ts'
import { ResponderStream } from './responder-stream.ts'

/** What a responder needs of its connection. */
export interface ResponderHost {
  readonly dispatcher: Dispatcher
  readonly logger: Logger
  readonly sender: FrameSender
  readonly connection: Connection
  readonly codecs: Codecs
  /** MIME type of data that does not say its own. */
  readonly dataMimeType: string
  readonly metadata: MetadataReader
  /** Asked about requests that carry credentials. */
  readonly authenticate: Authenticate | undefined
  readonly timer: Timer
  readonly limits: SharedLimits
  /** Why a request may not start now; `undefined` if it may. Counts it if it may. */
  refuse(): string | undefined
  /** See `Output.ready`. */
  ready(): Promise<void> | undefined
  /** Something that took more than a turn has ended. */
  settled(): void
}

/** What a stream needs of its responder. */
export interface ResponderContext {
  readonly sender: FrameSender
  /** Answers with the error of a handler. */
  fail(streamId: number, error: unknown): void
  /** Answers that a value cannot be encoded. */
  failEncoding(streamId: number, error: unknown): void
  /** See `Output.ready`. */
  ready(): Promise<void> | undefined
  /** The stream is over. @param single only its first value was wanted */
  ended(streamId: number, single: boolean): void
}

/** The first frame of a request, without its payload. */
export interface RequestFrame {
  readonly type: number
  readonly streamId: number
  /** Demand the caller grants at once; 1 for a request of one value. */
  readonly initialN: number
  /** REQUEST_CHANNEL: the first value is the only one. */
  readonly complete: boolean
}

/** Stands for the map of a connection that needs none: nothing is ever put in. */
const NO_STREAMS = new Map<number, ResponderStream>()

/** Answers the requests of one connection. */
export class RSocketResponder implements ResponderContext {
  readonly sender: FrameSender
  readonly #host: ResponderHost
  readonly #maxHeaderSize: number
  /** The codec of data that does not say its type. Kept here: it is needed for every request. */
  readonly #ownCodec: Codec | undefined
  /** What takes more than a turn, by stream id; made for the first of them. */
  #streams = NO_STREAMS
  /** How many of them are more than one value. */
  #openStreams = 0
  #events = 0

  constructor(host: ResponderHost) {
    this.#host = host
    this.#maxHeaderSize = host.limits.maxHeaderSize
    this.sender = host.sender
    this.#ownCodec = host.codecs.get(host.dataMimeType)
  }

  /** Requests and events that have not ended. */
  get inFlight(): number {
    return this.#streams.size + this.#events
  }

  /** Streams that have not ended. */
  get streams(): number {
    return this.#openStreams
  }

  /** A whole request has come. */
  request(frame: RequestFrame, payload: RawPayload): void {
    const { streamId } = frame
    // "Receiving a Request frame on a Stream ID that is already in use MUST be ignored."
    if (this.#streams.has(streamId)) return
    const isEvent = frame.type === FrameType.REQUEST_FNF
    const { metadataStart, metadataEnd } = payload
    if (metadataEnd - metadataStart > this.#maxHeaderSize && metadataStart >= 0)
      return this.#refuseHeaders(streamId, isEvent, payload)
    const metadata = this.#readMetadata(payload)
    const { dataMimeType } = metadata
    const codec = dataMimeType === undefined ? this.#ownCodec : this.#codec(dataMimeType)
    let data: unknown
    try {
      if (codec === undefined) throw unknownMimeType(dataMimeType ?? this.#host.dataMimeType)
      data = codec.decode(payload.buffer, payload.dataStart, payload.dataEnd)
    } catch (error) {
      // What a codec with a memory has not understood, it will not understand later either.
      if (codec?.stateful) throw error
      // An event has nobody to tell.
      if (isEvent) this.#host.logger.error('The data of an event cannot be read', error)
      else this.sender.error(streamId, ErrorCode.INVALID, (error as Error).message)
      // It has used up the caller's lease all the same.
      this.#host.refuse()
      return this.#host.settled()
    }
    const refused = this.#host.refuse() ?? this.#refuseStream(frame.type)
    if (refused !== undefined) {
      if (!isEvent) this.sender.error(streamId, ErrorCode.REJECTED, refused)
      return
    }
    if (isEvent) this.#event(data, metadata)
    else if (frame.type === FrameType.REQUEST_CHANNEL) this.#channel(frame, codec, data, metadata)
    else this.#answer(frame, codec, data, metadata, undefined)
  }

  /** Why a stream may not begin; `undefined` if it may, or if it is none. */
  #refuseStream(type: number): string | undefined {
    if (type !== FrameType.REQUEST_STREAM && type !== FrameType.REQUEST_CHANNEL) return undefined
    const { limits } = this.#host
    if (this.#openStreams < limits.maxStreams) return undefined
    const reason = `The connection has as many streams as maxStreams allows (${limits.maxStreams})`
    limits.refused('streams', reason)
    return reason
  }

  /** The metadata of a request is too long to be looked at. Trying again would not help: it is invalid. */
  #refuseHeaders(streamId: number, isEvent: boolean, payload: RawPayload): void {
    const { metadataStart, metadataEnd } = payload
    const size = metadataEnd - metadataStart
    const reason = `The metadata of the request has ${size} bytes; maxHeaderSize allows ${this.#maxHeaderSize}`
    this.#host.limits.refused('headers', reason)
    // A codec with a memory is for all data of the connection, and must see it all.
    const codec = this.#ownCodec
    if (codec?.stateful) codec.decode(payload.buffer, payload.dataStart, payload.dataEnd)
    if (!isEvent) this.sender.error(streamId, ErrorCode.INVALID, reason)
    // It has used up the caller's lease all the same.
    this.#host.refuse()
    this.#host.settled()
  }

  /** PAYLOAD of a channel's requester. */
  payload(streamId: number, flags: number, payload: RawPayload): void {
    const input = this.#streams.get(streamId)?.input
    const codec = input?.codec ?? this.#ownCodec
    // A codec with a memory must see every value, even one nobody reads.
    if (flags & Flag.NEXT && codec !== undefined && (input !== undefined || codec.stateful)) {
      let value: unknown
      try {
        value = codec.decode(payload.buffer, payload.dataStart, payload.dataEnd)
      } catch (error) {
        if (codec.stateful) throw error
        this.sender.error(streamId, ErrorCode.INVALID, (error as Error).message)
        return this.cancel(streamId, error as Error)
      }
      if (input?.next(value) === false) return this.#flooded(streamId)
    }
    if (flags & Flag.COMPLETE) input?.end()
  }

  #flooded(streamId: number): void {
    const reason = 'More values of a channel came than were asked for'
    this.sender.error(streamId, ErrorCode.INVALID, reason)
    this.cancel(streamId, new ProtocolError(reason))
  }

  requestN(streamId: number, n: number): void {
    this.#streams.get(streamId)?.requestN(n)
  }

  /** The caller has given up, or (`failure`) its side of a channel has failed. */
  cancel(streamId: number, failure?: Error): void {
    const stream = this.#streams.get(streamId)
    if (stream === undefined) return
    stream.input?.end(failure)
    stream.abort()
  }

  /** The connection is gone: stops everything. */
  close(): void {
    for (const [streamId] of [...this.#streams]) this.cancel(streamId)
  }

  fail(streamId: number, error: unknown): void {
    const { code, data } = toWireError(error, this.#host.logger)
    this.sender.error(streamId, code, data)
  }

  ready(): Promise<void> | undefined {
    return this.#host.ready()
  }

  ended(streamId: number, single: boolean): void {
    if (!this.#streams.delete(streamId)) return
    if (!single) this.#openStreams--
    this.#host.settled()
  }

  #readMetadata(payload: RawPayload): RequestMetadata {
    if (payload.metadataStart < 0) return NO_METADATA
    return this.#host.metadata.read(payload.buffer, payload.metadataStart, payload.metadataEnd)
  }

  #message(data: unknown, metadata: RequestMetadata, kind: 'request' | 'event'): IncomingMessage {
    const { route = '', headers, deadline } = metadata
    return new IncomingMessage(route, route, data, headers, this.#host.connection, kind, deadline)
  }

  #event(data: unknown, metadata: RequestMetadata): void {
    const running = this.#host.dispatcher.event(this.#message(data, metadata, 'event'))
    if (running === undefined) return this.#host.settled()
    this.#events++
    void running.then(() => {
      this.#events--
      this.#host.settled()
    })
  }

  #channel(frame: RequestFrame, codec: Codec, first: unknown, metadata: RequestMetadata): void {
    const { streamId, complete } = frame
    const input = new InputStream(
      codec,
      (n) => this.sender.requestN(streamId, n),
      () => {
        if (this.#streams.has(streamId)) this.sender.cancel(streamId)
      }
    )
    // A channel that is complete at once, with no data, is one without values.
    if (first !== undefined || !complete) input.next(first)
    if (complete) input.end()
    // "A Responder MUST respond to an initial REQUEST_CHANNEL frame with a REQUEST_N frame."
    this.sender.requestN(streamId, INPUT_WINDOW)
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
    const codec = this.#answerCodec(requestCodec, metadata)
    const announced = codec === requestCodec ? undefined : dataMimeTypeMetadata(codec.mimeType)
    const message = this.#message(data, metadata, 'request')
    let result: unknown
    try {
      result =
        metadata.credentials === undefined
          ? this.#host.dispatcher.request(message)
          : this.#authenticated(message, metadata)
    } catch (error) {
      message.end()
      this.fail(streamId, error)
      return this.#host.settled()
    }
    if (result === NO_HANDLER) {
      const { code, data: text } = noHandlerError(message.pattern)
      this.sender.error(streamId, code, text)
      return this.#host.settled()
    }
    const isObject = typeof result === 'object' && result !== null
    if (!isObject || (!isThenable(result as object) && !isStream(result as object))) {
      message.end()
      const answered = this.#value(streamId, codec, announced, result)
      // The answer does not close the caller's side of a channel.
      if (input?.close() === true && answered) this.sender.cancel(streamId)
      return this.#host.settled()
    }
    const single = frame.type === FrameType.REQUEST_RESPONSE
    const stream = new ResponderStream(this, {
      streamId,
      codec,
      message,
      single,
      demand: single ? MAX_UINT31 : frame.initialN,
      metadata: announced,
      input
    })
    if (this.#streams === NO_STREAMS) this.#streams = new Map()
    this.#streams.set(streamId, stream)
    if (!single) this.#openStreams++
    if (message.deadline !== undefined) {
      stream.deadline = this.#host.timer.now() + message.deadline
      this.#host.timer.wakeAt(stream.deadline)
    }
    if (isThenable(result as object)) this.#await(result as PromiseLike<unknown>, stream)
    else stream.start(result as object)
  }

  /** Asks the hook about the credentials of a request before its handler. */
  async #authenticated(message: IncomingMessage, { credentials, route }: RequestMetadata): Promise<unknown> {
    const { authenticate, connection, dispatcher } = this.#host
    const verdict = await authenticate?.({ credentials, route, connection })
    if (verdict === false) throw new RejectedError('The credentials are not accepted')
    const result = await dispatcher.request(message)
    if (result === NO_HANDLER)
      throw new PatternNotFoundError(`There is no handler of the pattern '${message.pattern}'`)
    return result
  }

  /** Stops the work on requests whose caller waits no longer. */
  expire(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const [streamId, stream] of [...this.#streams]) {
      if (stream.deadline > now) next = Math.min(next, stream.deadline)
      else {
        this.sender.error(streamId, ErrorCode.CANCELED, 'The deadline of the request has passed')
        this.cancel(streamId)
      }
    }
    if (next < Number.POSITIVE_INFINITY) this.#host.timer.wakeAt(next)
  }

  #await(result: PromiseLike<unknown>, stream: ResponderStream): void {
    result.then(
      (value) => {
        if (typeof value === 'object' && value !== null && isStream(value)) stream.start(value)
        else stream.value(value)
      },
      (error: unknown) => stream.error(error)
    )
  }

  /** Answers with one value; false if with an error instead. */
  #value(streamId: number, codec: Codec, metadata: Uint8Array | undefined, value: unknown): boolean {
    try {
      this.sender.payload(streamId, FrameType.PAYLOAD, Flag.NEXT | Flag.COMPLETE, -1, metadata, codec, value)
      return true
    } catch (error) {
      this.failEncoding(streamId, error)
      return false
    }
  }

  /** A result cannot be encoded: the fault of the handler, which its caller need not understand. */
  failEncoding(streamId: number, error: unknown): void {
    this.fail(streamId, new Error('The result of a handler cannot be encoded', { cause: error }))
  }

  /** The codec of the answer: that of the request, unless the caller asks for others only. */
  #answerCodec(requestCodec: Codec, { acceptMimeTypes }: RequestMetadata): Codec {
    if (acceptMimeTypes.length === 0 || acceptMimeTypes.includes(requestCodec.mimeType)) return requestCodec
    for (const accepted of acceptMimeTypes) {
      const codec = this.#codec(accepted)
      if (codec !== undefined) return codec
    }
    return requestCodec
  }

  /** The codec for a MIME type. One with a memory is for all data of a connection, or for none. */
  #codec(mimeType: string): Codec | undefined {
    const codec = this.#host.codecs.get(mimeType)
    return codec?.stateful && mimeType !== this.#host.dataMimeType ? undefined : codec
  }
}

function unknownMimeType(mimeType: string): ProtocolError {
  return new ProtocolError(`There is no codec for data of type ${mimeType}`)
}

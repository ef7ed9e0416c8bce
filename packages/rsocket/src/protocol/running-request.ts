/** One request of an RSocket connection that takes more than the turn in which it arrived. */
import {
  type ByteWriter,
  type Codec,
  cleanUpFailed,
  type Encoded,
  type IncomingMessage,
  type InputStream,
  type Logger,
  OutgoingValues,
  type TableEntry
} from '@elysia-microservices/transport/kit'
import { sendFailure, sendUnencodable } from './failure-codes.ts'
import { Flag, FrameType } from './frame-type.ts'
import { withAnswerHeaders } from './request-metadata.ts'
import { sequenceOf, type Wire } from './wire.ts'

/** The first frame of a request, without its payload. */
export interface RequestFrame {
  readonly type: number
  readonly streamId: number
  /** Demand that the caller grants at once; 1 for a request with one value. */
  readonly initialN: number
  /** For REQUEST_CHANNEL: whether the first value is the only one. */
  readonly complete: boolean
}

/** The connection, as its requests use it. */
export interface RunningRequestOwner {
  readonly wire: Wire
  readonly logger: Logger
  /** Called once for each request, when the request has ended. */
  ended(request: RunningRequest): void
}

/** The parameters of a running request. */
export interface RunningRequestInit {
  readonly frame: RequestFrame
  /** The codec of the answer. */
  readonly codec: Codec
  /** The codec of the caller's values in a channel, which all have the same MIME type. */
  readonly inputCodec: Codec
  readonly message: IncomingMessage
  /** Metadata of each value: its MIME type, if that differs from the MIME type of the request. */
  readonly metadata: Uint8Array | undefined
  /** Bytes that may be sent between two grants of demand; `undefined`: any number. */
  readonly window: number | undefined
  /** The values that the caller sends in a channel. */
  readonly input: InputStream | undefined
}

/** The metadata of a value: with the headers that the handler has set, if this value is the one to have them. */
export function metadataOfAnswer(
  metadata: Uint8Array | undefined,
  message: IncomingMessage,
  isLast: boolean
): Uint8Array | undefined {
  const json = message.takeSet(isLast)
  return json === undefined ? metadata : withAnswerHeaders(metadata, json)
}

/** Sends the end of an answer without a further value. */
export function sendEnd(wire: Wire, streamId: number, message: IncomingMessage): void {
  const json = message.takeSet(true)
  if (json === undefined) wire.complete(streamId)
  else wire.payload(streamId, Flag.COMPLETE, withAnswerHeaders(undefined, json), '')
}

/** Answers one request. */
export class RunningRequest extends OutgoingValues implements TableEntry {
  readonly sequence: number
  /** Time until which the caller waits; `undefined` for no limit. After the first value it is `endsAt`. */
  deadline: number | undefined
  /** Time until which the caller takes values of a stream; `undefined` for no limit. */
  endsAt: number | undefined
  /** The first value has taken the headers of the answer: those behind it need not look. */
  #hasHeaders = false
  readonly #owner: RunningRequestOwner
  readonly #init: RunningRequestInit

  constructor(owner: RunningRequestOwner, init: RunningRequestInit) {
    super(init.frame.initialN, init.frame.type === FrameType.REQUEST_RESPONSE, init.window)
    this.#owner = owner
    this.#init = init
    this.sequence = sequenceOf(init.frame.streamId)
  }

  get streamId(): number {
    return this.#init.frame.streamId
  }

  get message(): IncomingMessage {
    return this.#init.message
  }

  /** Milliseconds that the caller allowed until `deadline`. */
  get allowed(): number {
    const { timeout, lifetime } = this.message
    return (this.deadline === this.endsAt ? lifetime : timeout) ?? 0
  }

  /** The values that the caller sends in a channel. */
  get input(): InputStream | undefined {
    return this.#init.input
  }

  get inputCodec(): Codec {
    return this.#init.inputCodec
  }

  teardownFailed(error: unknown): void {
    this.#owner.logger.error(cleanUpFailed(this.message), error)
  }

  protected override get mostHeldAtOnce(): number {
    return Number.POSITIVE_INFINITY
  }

  protected get maxHeldSize(): number {
    return this.#owner.wire.maxUnsent
  }

  protected hasRoom(): boolean {
    return this.#owner.wire.hasRoomFor(this)
  }

  protected send(value: unknown, isLast: boolean): void {
    const flags = isLast ? Flag.NEXT | Flag.COMPLETE : Flag.NEXT
    const data = this.#init.codec.encode(value)
    // A `toJSON` of the value may have ended the stream.
    if (this.isDone && !isLast) return
    const metadata = isLast || !this.#hasHeaders ? this.#metadata(isLast) : this.#init.metadata
    this.#owner.wire.payload(this.streamId, flags, metadata, data)
    this.hasSent(data.length)
    if (this.deadline !== this.endsAt) this.#begin()
  }

  /** The timeout limits the wait for the first value only: behind it, the stream may take its whole lifetime. */
  #begin(): void {
    this.deadline = this.endsAt
    this.message.begins()
  }

  protected encode(value: unknown): Encoded {
    return this.#init.codec.encode(value)
  }

  protected override writeHeld(encoded: Encoded, out: ByteWriter): void {
    this.#owner.wire.hold(this.streamId, this.#metadata(false), encoded, out)
  }

  #metadata(isLast: boolean): Uint8Array | undefined {
    this.#hasHeaders = true
    return metadataOfAnswer(this.#init.metadata, this.message, isLast)
  }

  protected sendHeld(bytes: Uint8Array): void {
    this.#owner.wire.held(bytes)
    if (this.deadline !== this.endsAt) this.#begin()
  }

  protected sendEnd(): void {
    sendEnd(this.#owner.wire, this.streamId, this.message)
  }

  protected sendError(error: unknown): void {
    this.#endInput()
    sendFailure(this.#owner.wire, this.streamId, error, this.#owner.logger, this.message)
  }

  protected sendUnencodable(error: unknown): void {
    this.#endInput()
    sendUnencodable(this.#owner.wire, this.streamId, error, this.#owner.logger, this.message)
  }

  /** An ERROR ends both directions of a channel, so the caller's side needs no CANCEL. */
  #endInput(): void {
    this.input?.close()
  }

  protected over(isAborted: boolean): void {
    // The answer does not close the caller's side of a channel, so CANCEL is sent.
    if (this.input?.close() === true) this.#owner.wire.cancel(this.streamId)
    if (isAborted) this.message.abort(this.#owner.logger)
    this.#owner.ended(this)
  }
}

/** One request of an RSocket connection that takes more than the turn it came in. */
import {
  type Codec,
  type IncomingMessage,
  type InputStream,
  type Logger,
  OutgoingValues
} from '@elysia-microservices/transport/kit'
import { sendFailure, sendUnencodable } from './failure-codes.ts'
import { Flag, FrameType } from './frame-type.ts'
import type { Wire } from './wire.ts'

/** The first frame of a request, without its payload. */
export interface RequestFrame {
  readonly type: number
  readonly streamId: number
  /** Demand the caller grants at once; 1 for a request of one value. */
  readonly initialN: number
  /** REQUEST_CHANNEL: the first value is the only one. */
  readonly complete: boolean
}

/** What a request is answered with. */
export interface RunningRequestInit {
  readonly wire: Wire
  readonly logger: Logger
  readonly frame: RequestFrame
  /** The codec of the answer. */
  readonly codec: Codec
  /** The codec of what the caller sends in a channel: all values of a stream are of one MIME type. */
  readonly inputCodec: Codec
  readonly message: IncomingMessage
  /** Metadata of each answer: its MIME type, if that is not the request's. */
  readonly metadata: Uint8Array | undefined
  /** What the caller sends in a channel. */
  readonly input: InputStream | undefined
  /** Is called once, when the request is over. */
  ended(request: RunningRequest): void
}

/** Answers it. */
export class RunningRequest extends OutgoingValues {
  readonly streamId: number
  /** Only the first value is wanted: REQUEST_RESPONSE. */
  readonly isSingle: boolean
  readonly message: IncomingMessage
  readonly input: InputStream | undefined
  readonly inputCodec: Codec
  /** When the caller waits no longer; `Infinity` for never, and once a value has been sent. */
  deadline = Number.POSITIVE_INFINITY
  readonly #wire: Wire
  readonly #logger: Logger
  readonly #codec: Codec
  readonly #metadata: Uint8Array | undefined
  readonly #ended: (request: RunningRequest) => void
  /** The answer was an ERROR, which ends both directions. */
  #hasFailed = false

  constructor(init: RunningRequestInit) {
    const { type, streamId, initialN } = init.frame
    const isSingle = type === FrameType.REQUEST_RESPONSE
    super(initialN, isSingle)
    this.streamId = streamId
    this.isSingle = isSingle
    this.message = init.message
    this.input = init.input
    this.inputCodec = init.inputCodec
    this.#wire = init.wire
    this.#logger = init.logger
    this.#codec = init.codec
    this.#metadata = init.metadata
    this.#ended = init.ended
  }

  teardownFailed(error: unknown): void {
    this.#logger.error('The clean-up of a stream failed', error)
  }

  protected get maxHeldSize(): number {
    return this.#wire.maxUnsent
  }

  protected hasRoom(): boolean {
    return this.#wire.hasRoomFor(this)
  }

  protected send(value: unknown, isLast: boolean): void {
    const flags = isLast ? Flag.NEXT | Flag.COMPLETE : Flag.NEXT
    this.#wire.payload(this.streamId, FrameType.PAYLOAD, flags, -1, this.#metadata, this.#codec, value)
    // The timeout is for the first answer; a stream may pause between values as long as it likes.
    this.deadline = Number.POSITIVE_INFINITY
  }

  protected hold(value: unknown): Uint8Array {
    this.deadline = Number.POSITIVE_INFINITY
    return this.#wire.hold(this.streamId, this.#metadata, this.#codec, value)
  }

  protected sendHeld(bytes: Uint8Array): void {
    this.#wire.held(bytes, this.#codec)
  }

  protected sendEnd(): void {
    this.#wire.complete(this.streamId)
  }

  protected sendError(error: unknown): void {
    this.#hasFailed = true
    sendFailure(this.#wire, this.streamId, error, this.#logger)
  }

  protected sendUnencodable(error: unknown): void {
    this.#hasFailed = true
    sendUnencodable(this.#wire, this.streamId, error, this.#logger)
  }

  protected over(isAborted: boolean): void {
    // The answer does not close the caller's side of a channel.
    if (this.input?.close() === true && !this.#hasFailed) this.#wire.cancel(this.streamId)
    if (isAborted) this.message.abort()
    this.#ended(this)
  }
}

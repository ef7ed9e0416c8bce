/** The answer to one call: fields, messages and trailers, as far as the caller's windows have room. */
import {
  answerHeaders,
  GrpcStatus,
  type HeaderList,
  noteMetadata,
  type RpcCode,
  unsendableResult
} from '@elysia-microservices/protobuf/rpc'
import {
  type ByteWriter,
  cleanUpFailed,
  type Encoded,
  type IncomingMessage,
  type Logger,
  OutgoingValues,
  UNLIMITED
} from '@elysia-microservices/transport/kit'
import type { Http2Stream } from '../http2/stream.ts'
import type { GrpcMethod } from '../methods.ts'
import { encodeFramed, framed, ownBytes } from '../wire/message-writer.ts'
import { trailersOf, trailersOfError } from '../wire/trailers.ts'

/** The parameters of an answer. */
export interface RunningCallInit {
  readonly stream: Http2Stream
  readonly method: GrpcMethod
  readonly message: IncomingMessage
  readonly logger: Logger
  /** The content type of the request, which the answer has too. */
  readonly contentType: string
  /** Most bytes that an Observable may be ahead of its reader. */
  readonly maxHeldSize: number
  /** Bytes from which on a message is compressed; `Infinity`: none is. */
  readonly packsFrom: number
  /** Codes of calls for codes of errors of the application. */
  readonly errors: Readonly<Record<string, RpcCode>> | undefined
  /** Called once, when the answer has ended. */
  ended(): void
}

/** Answers one call. */
export class RunningCall extends OutgoingValues {
  readonly #init: RunningCallInit
  #hasBegun = false
  /** The headers of the handler for the head and for the end. */
  #headers: HeaderList = []
  #trailers: HeaderList = []

  constructor(init: RunningCallInit) {
    super(UNLIMITED, !init.method.serverStreams)
    this.#init = init
  }

  /** Ends the call with a status of the transport, and stops its handler. */
  fail(status: number, reason: string): void {
    this.abort(() => this.#end(trailersOf(status, reason)))
  }

  teardownFailed(error: unknown): void {
    this.#init.logger.error(cleanUpFailed(this.#init.message), error)
  }

  protected override get mostHeldAtOnce(): number {
    return Number.POSITIVE_INFINITY
  }

  protected get maxHeldSize(): number {
    return this.#init.maxHeldSize
  }

  protected hasRoom(): boolean {
    return this.#init.stream.hasRoom
  }

  protected send(value: unknown, isLast: boolean): void {
    const { method, stream, packsFrom } = this.#init
    const { output } = method
    // The head is written between the first value and its bytes, so these must not be shared.
    const message = this.#hasBegun
      ? encodeFramed(output, value, packsFrom)
      : ownBytes(framed(output.encode(value), packsFrom))
    // Reading the value may have ended the call.
    if (this.isDone && !isLast) return
    this.#takeSet(isLast)
    this.#begin()
    stream.data(message.buffer, false, message.length)
    if (isLast) this.#end(trailersOf(GrpcStatus.OK))
  }

  protected encode(value: unknown): Encoded {
    const bytes = this.#init.method.output.encode(value)
    this.#takeSet(false)
    return bytes
  }

  protected override writeHeld(encoded: Encoded, out: ByteWriter): void {
    out.bytes(framed(encoded as Uint8Array, this.#init.packsFrom))
  }

  protected sendHeld(bytes: Uint8Array): void {
    this.#begin()
    this.#init.stream.data(bytes, false)
  }

  protected sendEnd(): void {
    try {
      // A method that answers one message always answers one: the empty one if the handler has no value.
      if (this.isSingle && !this.#hasBegun) return this.send(undefined, true)
      this.#takeSet(true)
    } catch (error) {
      return this.sendUnencodable(error)
    }
    this.#end(trailersOf(GrpcStatus.OK))
  }

  protected sendError(error: unknown): void {
    const { logger, message, errors } = this.#init
    try {
      noteMetadata(error, message)
      this.#takeSet(true)
    } catch (misset) {
      logger.error(`Headers of the answer to '${message.pattern}' are left out`, misset)
    }
    this.#end(trailersOfError(error, logger, message, errors))
  }

  protected sendUnencodable(cause: unknown): void {
    this.sendError(unsendableResult(cause))
  }

  protected over(isAborted: boolean): void {
    const { message, logger } = this.#init
    // The sender of an event waits until it is taken, and not for its handlers.
    if (isAborted && message.kind === 'request') message.abort(logger)
    this.#init.ended()
  }

  /** Takes what the handler has set. @throws {OptionError} something of it cannot be sent */
  #takeSet(isLast: boolean): void {
    const json = this.#init.message.takeSet(isLast)
    if (json === undefined) return
    const { headers, trailers } = answerHeaders(json)
    if (headers.length > 0) this.#headers = headers
    if (isLast) this.#trailers = trailers
  }

  #begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    const { stream, contentType, packsFrom } = this.#init
    const fields = [':status', '200', 'content-type', contentType]
    if (packsFrom < Number.POSITIVE_INFINITY) fields.push('grpc-encoding', 'gzip')
    for (const [name, value] of this.#headers) fields.push(name, value)
    stream.fields(fields, false)
  }

  /** Without a message before them, the trailers are the whole answer. */
  #end(status: readonly string[]): void {
    const { stream, contentType } = this.#init
    // A head of its own: callers would take everything beside the trailers for trailers, too.
    if (this.#headers.length > 0) this.#begin()
    const fields = this.#hasBegun ? [...status] : [':status', '200', 'content-type', contentType, ...status]
    for (const [name, value] of this.#trailers) fields.push(name, value)
    stream.fields(fields, true)
  }
}

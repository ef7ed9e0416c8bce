/** The answer to one call: fields, messages and trailers, as far as the caller's windows have room. */
import { GrpcStatus, prefixed } from '@elysia-microservices/protobuf/rpc'
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
  /** Called once, when the answer has ended. */
  ended(): void
}

/** Answers one call. */
export class RunningCall extends OutgoingValues {
  readonly #init: RunningCallInit
  #hasBegun = false

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
    const bytes = this.#init.method.output.encode(value)
    // Reading the value may have ended the call.
    if (this.isDone && !isLast) return
    this.#begin()
    this.#init.stream.data(prefixed(bytes), false)
    if (isLast) this.sendEnd()
  }

  protected encode(value: unknown): Encoded {
    return this.#init.method.output.encode(value)
  }

  protected override writeHeld(encoded: Encoded, out: ByteWriter): void {
    out.bytes(prefixed(encoded as Uint8Array))
  }

  protected sendHeld(bytes: Uint8Array): void {
    this.#begin()
    this.#init.stream.data(bytes, false)
  }

  protected sendEnd(): void {
    this.#end(trailersOf(GrpcStatus.OK))
  }

  protected sendError(error: unknown): void {
    this.#end(trailersOfError(error, this.#init.logger, this.#init.message))
  }

  protected sendUnencodable(cause: unknown): void {
    this.sendError(new Error('The result of a handler cannot be encoded', { cause }))
  }

  protected over(isAborted: boolean): void {
    if (isAborted) this.#init.message.abort(this.#init.logger)
    this.#init.ended()
  }

  #begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#init.stream.fields([':status', '200', 'content-type', this.#init.contentType], false)
  }

  /** Without a message before them, the trailers are the whole answer. */
  #end(trailers: readonly string[]): void {
    const { stream, contentType } = this.#init
    if (this.#hasBegun) stream.fields(trailers, true)
    else stream.fields([':status', '200', 'content-type', contentType, ...trailers], true)
  }
}

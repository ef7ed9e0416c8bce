/** One call at the server: its messages come in, its handler is called, its answer goes out. */
import {
  acceptsGzip,
  GrpcStatus,
  invokeGrpc,
  MessageReader,
  type RpcCode,
  unpack,
  type WrongMessage
} from '@elysia-microservices/protobuf/rpc'
import {
  answerWith,
  canceledByCaller,
  copyBytes,
  type Dispatcher,
  IncomingMessage,
  type Logger,
  type Peer,
  RejectedError,
  reportEvent,
  whenTaken
} from '@elysia-microservices/transport/kit'
import type { Http2Stream, StreamEnd, StreamListener } from '../http2/stream.ts'
import type { GrpcMethod } from '../methods.ts'
import { trailersOf } from '../wire/trailers.ts'
import { CallInput, type ReadValue } from './call-input.ts'
import { handlerPatternOf } from './handler-pattern.ts'
import type { RequestHead } from './request-head.ts'
import { RunningCall } from './running-call.ts'

/** The connection of a call. */
export interface CallOwner {
  readonly logger: Logger
  readonly peer: Peer | undefined
  /** Most bytes of a message. */
  readonly maxMessageSize: number
  /** Most bytes that an Observable may be ahead of its reader. */
  readonly maxHeldSize: number
  /** Most bytes of messages that have not arrived completely, of all calls. */
  readonly maxIncompleteSize: number
  /** Bytes from which on an answer is compressed; `Infinity`: none is. */
  readonly packsFrom: number
  /** Bytes of messages that have not arrived completely, of all calls. The calls count them. */
  incompleteSize: number
  /** Codes of calls for codes of errors of the application. */
  readonly errors: Readonly<Record<string, RpcCode>> | undefined
  /** Why no call may begin now; `undefined`: it may. Counts refusals. */
  refusal(): string | undefined
  /** The clock of deadlines, in milliseconds. */
  now(): number
  /** The call has ended. */
  ended(call: IncomingCall): void
}

/** The handlers of a call. */
export interface CallHandlers {
  readonly dispatcher: Dispatcher
  /** Whether calls are counted, and refused when there are too many. */
  readonly isLimited: boolean
}

/** A failure of what a caller sends. */
interface Wrong {
  readonly status: number
  readonly reason: string
}

/** One call. */
export class IncomingCall implements StreamListener {
  /** Time until which the caller waits, for everything; `Infinity`: for ever. */
  readonly deadline: number
  readonly #owner: CallOwner
  readonly #stream: Http2Stream
  readonly #method: GrpcMethod
  readonly #head: RequestHead
  readonly #handlers: CallHandlers
  readonly #reader: MessageReader
  readonly #arrivedAt: number
  /** The values of a caller that streams. */
  readonly #input: CallInput | undefined
  /** The value of a caller that sends one. */
  #data: { readonly value: unknown } | undefined
  #wrong: Wrong | undefined
  #answer: RunningCall | undefined
  #hasEnded = false
  /** How much has to end until the call has ended: its answer, and the handlers of an event. */
  #parts = 1
  /** Bytes of a message that has not arrived completely. */
  #incomplete = 0

  constructor(
    owner: CallOwner,
    stream: Http2Stream,
    method: GrpcMethod,
    head: RequestHead,
    handlers: CallHandlers
  ) {
    this.#owner = owner
    this.#handlers = handlers
    this.#stream = stream
    this.#method = method
    this.#head = head
    this.#arrivedAt = owner.now()
    this.deadline = head.timeout === undefined ? Number.POSITIVE_INFINITY : this.#arrivedAt + head.timeout
    this.#reader = new MessageReader(owner.maxMessageSize, (isPacked, buffer, start, end, size) =>
      this.#received(isPacked, buffer, start, end, size)
    )
    this.#input = method.clientStreams ? new CallInput(stream) : undefined
  }

  /**
   * A handler of a stream begins before its first value is there, because it may want to answer first.
   * @param isLast the caller sends nothing behind the head
   */
  begin(isLast: boolean): void {
    if (this.#input !== undefined) this.#run(this.#input.values)
    if (isLast && !this.#hasEnded) this.#complete()
  }

  /** Whether the answer is a stream of values. */
  get isStream(): boolean {
    return this.#method.serverStreams
  }

  /** Whether the call has ended. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** The time of the caller is over. */
  timeIsOver(): void {
    this.#fail(GrpcStatus.DEADLINE_EXCEEDED, 'The deadline of the call has passed')
  }

  /** The server stops, and waits no longer. */
  cut(): void {
    this.#fail(GrpcStatus.UNAVAILABLE, 'The server is stopping')
  }

  // ── called by the stream ─────────────────────────────────────────────────────────────────────────────

  head(): void {}

  data(buffer: Uint8Array, start: number, end: number, isLast: boolean): void {
    if (this.#hasEnded) return
    const result = this.#reader.push(buffer, start, end)
    if (typeof result !== 'number') return this.#refuse(wrongMessage(result, this.#owner.maxMessageSize))
    if (result > 0) this.#stream.consumed(result)
    this.#countIncomplete(this.#reader.buffered)
    if (this.#wrong !== undefined) return this.#refuse(this.#wrong)
    if (isLast) this.#complete()
  }

  trailers(): void {
    if (!this.#hasEnded) this.#complete()
  }

  reset(end: StreamEnd): void {
    if (this.#hasEnded) return
    this.#input?.end(end.isByPeer ? canceledByCaller() : (end.reason ?? canceledByCaller()))
    if (this.#answer === undefined) this.#over()
    else this.#answer.abort()
  }

  room(): void {
    this.#answer?.resume()
  }

  // ── messages ─────────────────────────────────────────────────────────────────────────────────────────

  /** Many calls with half a message each would keep as much memory as whole ones. */
  #countIncomplete(bytes: number): void {
    const owner = this.#owner
    const more = bytes - this.#incomplete
    this.#incomplete = bytes
    owner.incompleteSize += more
    if (more > 0 && owner.incompleteSize > owner.maxIncompleteSize)
      this.#wrong ??= {
        status: GrpcStatus.RESOURCE_EXHAUSTED,
        reason: `The incomplete messages of the connection have more than ${owner.maxIncompleteSize} bytes`
      }
  }

  #received(isPacked: boolean, buffer: Uint8Array, start: number, end: number, size: number): void {
    if (this.#wrong !== undefined || this.#hasEnded) return
    if (this.#input === undefined) this.#stream.consumed(size)
    if (this.#input === undefined && this.#data !== undefined) {
      this.#wrong = {
        status: GrpcStatus.UNIMPLEMENTED,
        reason: 'The method takes one message; more have come'
      }
      return
    }
    // A copy, because values may keep parts of their message.
    const bytes = copyBytes(buffer, start, end)
    if (this.#input === undefined) this.#data = this.#read(isPacked, bytes)
    else this.#input.push(() => this.#readLater(isPacked, bytes), size)
  }

  /** Reads a message of a stream, perhaps when its handler asks for it. */
  #readLater(isPacked: boolean, bytes: Uint8Array): ReadValue | undefined {
    const read = this.#read(isPacked, bytes)
    if (this.#wrong !== undefined) this.#refuse(this.#wrong)
    return read
  }

  #read(isPacked: boolean, bytes: Uint8Array): ReadValue | undefined {
    let whole = bytes
    if (isPacked) {
      const unpacked = this.#head.isPacked ? unpack(bytes, this.#owner.maxMessageSize) : 'not gzip'
      if (typeof unpacked === 'string') {
        this.#wrong =
          unpacked === 'too long'
            ? wrongMessage('too long', this.#owner.maxMessageSize)
            : { status: GrpcStatus.INTERNAL, reason: 'A message is not compressed as its call says' }
        return undefined
      }
      whole = unpacked
    }
    try {
      return { value: this.#method.input.decode(whole), length: whole.length }
    } catch (error) {
      this.#wrong = { status: GrpcStatus.INVALID_ARGUMENT, reason: (error as Error).message }
      return undefined
    }
  }

  #complete(): void {
    if (this.#reader.buffered > 0)
      return this.#refuse({ status: GrpcStatus.INTERNAL, reason: 'A call ends within a message' })
    if (this.#input !== undefined) return this.#input.end()
    if (this.#data === undefined)
      return this.#refuse({
        status: GrpcStatus.UNIMPLEMENTED,
        reason: 'The method takes one message; none has come'
      })
    this.#run(this.#data.value)
  }

  // ── the answer ───────────────────────────────────────────────────────────────────────────────────────

  #run(data: unknown): void {
    const { logger, peer, maxHeldSize, packsFrom, errors } = this.#owner
    const { dispatcher, isLimited } = this.#handlers
    const { kind } = this.#method
    const { pattern, route } = handlerPatternOf(dispatcher, this.#method)
    const { timeout, metadata, contentType, accepted } = this.#head
    const message = new IncomingMessage({
      transport: 'grpc',
      kind: kind === 'event' ? 'event' : 'request',
      pattern,
      route,
      data,
      metadata,
      calledMethod: this.#method,
      invokeGrpc,
      timeout,
      // The deadline of gRPC is that of the whole call.
      lifetime: timeout,
      arrivedAt: this.#arrivedAt,
      // HTTP/2 has room for them, whatever the client is.
      asksForHeaders: true,
      peer
    })
    const packs = packsFrom < Number.POSITIVE_INFINITY && acceptsGzip(accepted)
    const answer = new RunningCall({
      stream: this.#stream,
      method: this.#method,
      message,
      logger,
      contentType,
      maxHeldSize,
      packsFrom: packs ? packsFrom : Number.POSITIVE_INFINITY,
      errors,
      ended: () => this.#part()
    })
    this.#answer = answer
    const refusal = isLimited ? this.#owner.refusal() : undefined
    if (refusal !== undefined) return answer.error(new RejectedError(refusal))
    if (kind === 'event') return this.#runEvent(message, answer)
    let result: unknown
    try {
      result = dispatcher.request(message)
    } catch (error) {
      return answer.error(error)
    }
    answerWith(result, answer)
  }

  /**
   * The answer to an event says only that it has been taken: it waits for a refusal, not for the handlers. The call is
   * there until these have ended, so that a server that stops waits for them.
   */
  #runEvent(message: IncomingMessage, answer: RunningCall): void {
    const { logger } = this.#owner
    const { dispatcher } = this.#handlers
    this.#parts = 2
    const refused = (error: unknown) => answer.error(error)
    reportEvent(dispatcher, message, logger, () => this.#part(), {
      eventRefused: (_id, _message, error) => refused(error)
    })
    whenTaken(message, () => answer.value(undefined), refused)
  }

  /** The answer has ended, or the handlers of an event. */
  #part(): void {
    if (--this.#parts === 0) this.#over()
  }

  /** The caller sends something wrong. */
  #refuse({ status, reason }: Wrong): void {
    this.#input?.end(new Error(reason))
    this.#fail(status, reason)
  }

  #fail(status: number, reason: string): void {
    if (this.#hasEnded) return
    this.#input?.end(canceledByCaller())
    if (this.#answer !== undefined) return this.#answer.fail(status, reason)
    const { contentType } = this.#head
    const fields = [':status', '200', 'content-type', contentType, ...trailersOf(status, reason)]
    this.#stream.fields(fields, true)
    this.#over()
  }

  #over(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#countIncomplete(0)
    this.#input?.drop()
    this.#owner.ended(this)
  }
}

function wrongMessage(wrong: WrongMessage, most: number): Wrong {
  return wrong === 'too long'
    ? {
        status: GrpcStatus.RESOURCE_EXHAUSTED,
        reason: `A message is longer than limits.messageSize (${most} bytes)`
      }
    : { status: GrpcStatus.INTERNAL, reason: `A message has ${wrong}` }
}

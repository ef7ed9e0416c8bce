/** One call at the client, on its stream: the answer as it comes, message by message. */
import {
  addMetadata,
  errorOfStatus,
  GrpcStatus,
  MessageReader,
  type Metadata,
  readStatus,
  unpack
} from '@elysia-microservices/protobuf/rpc'
import {
  copyBytes,
  PayloadTooLargeError,
  type PendingCall,
  PendingStream,
  ProtocolError,
  RejectedError
} from '@elysia-microservices/transport/kit'
import { ErrorCode } from '../http2/error-code.ts'
import type { Field } from '../http2/hpack/field.ts'
import type { Http2Stream, StreamEnd, StreamListener } from '../http2/stream.ts'
import type { GrpcMethod } from '../methods.ts'
import { statusOfHttp, statusOfReset } from '../wire/status.ts'

const CONTENT_TYPE = /^application\/grpc(?:$|[+;])/

/** The connection of a call. */
export interface CallOwner {
  /** Most bytes of a message. */
  readonly maxMessageSize: number
  /** The call has its value or its end. */
  complete(call: PendingCall): void
  /** The call has failed at the other side. */
  fail(call: PendingCall, error: Error): void
  /** The call has failed here, and the other side must be told. */
  giveUp(call: PendingCall, error: Error): void
  /** The connection itself has ended: it fails all its calls. */
  readonly isEnded: boolean
}

/**
 * A message that its reader has not asked for yet. It is read only then: a compressed one may be a thousand times as long as
 * what the window has counted.
 */
interface Waiting {
  readonly isPacked: boolean
  readonly bytes: Uint8Array
  /** Bytes in the window of the stream. */
  readonly size: number
}

/** A value, and the bytes of its message. */
interface Read {
  readonly value: unknown
  readonly length: number
}

/** One attempt of a call. */
export class OutgoingCall implements StreamListener {
  stream: Http2Stream | undefined
  readonly #owner: CallOwner
  readonly #call: PendingCall
  readonly #method: GrpcMethod
  readonly #reader: MessageReader
  /** Values that may still be passed on; those beyond wait, and their bytes keep the window closed. */
  #credit: number
  readonly #waiting: Waiting[] = []
  /** The only value of a call that wants one: it counts when the status says that all is right. */
  #single: Read | undefined
  #hasHead = false
  #isPacked = false
  /** The trailers, while values wait before them. */
  #end: readonly Field[] | undefined
  #isOver = false

  constructor(owner: CallOwner, call: PendingCall, method: GrpcMethod) {
    this.#owner = owner
    this.#call = call
    this.#method = method
    this.#credit = call instanceof PendingStream ? call.initialDemand + call.extraDemand : 0
    this.#reader = new MessageReader(owner.maxMessageSize, (isPacked, buffer, start, end, size) =>
      this.#message(isPacked, copyBytes(buffer, start, end), size)
    )
  }

  /** The reader takes `n` more values. */
  demand(n: number): void {
    this.#credit += n
    this.#passOn()
  }

  /** The call has ended on this side: nothing is passed on any more. */
  over(): void {
    this.#isOver = true
    this.#waiting.length = 0
  }

  // ── called by the stream ─────────────────────────────────────────────────────────────────────────────

  head(fields: readonly Field[], isLast: boolean): void {
    if (this.#isOver) return
    this.#hasHead = true
    const status = fieldIn(fields, ':status')
    const contentType = fieldIn(fields, 'content-type') ?? ''
    const hasStatus = fieldIn(fields, 'grpc-status') !== undefined
    if (status !== '200' || !CONTENT_TYPE.test(contentType)) {
      if (isLast && hasStatus) return this.#finish(fields)
      const code = statusOfHttp(Number(status))
      const said = `The server answers with the status ${status} of HTTP and '${contentType}', which is not gRPC`
      return this.#owner.giveUp(this.#call, errorOfStatus(code, said))
    }
    this.#isPacked = fieldIn(fields, 'grpc-encoding') === 'gzip'
    // A head that is the whole answer has trailers only.
    if (isLast) this.#finish(fields)
    else this.#heard('headers', fields)
  }

  data(buffer: Uint8Array, start: number, end: number, isLast: boolean): void {
    if (this.#isOver) return
    const result = this.#reader.push(buffer, start, end)
    if (result === 'too long') return this.#tooLong(this.#reader.refused, 'bytes of a message')
    if (typeof result !== 'number') return this.#wrong(`A message has ${result}`)
    if (result > 0) this.stream?.consumed(result)
    if (isLast && !this.#isOver) this.#wrong('The answer ends without a status')
  }

  trailers(fields: readonly Field[]): void {
    if (this.#isOver) return
    if (this.#reader.buffered > 0) return this.#wrong('The answer ends within a message')
    this.#finish(fields)
  }

  reset({ errorCode, isByPeer, mayHaveRun, reason }: StreamEnd): void {
    if (this.#isOver || this.#owner.isEnded) return
    if (!mayHaveRun) {
      const why = reason === undefined ? '' : `: ${reason.message}`
      return this.#owner.fail(this.#call, new RejectedError(`The server has not begun the call${why}`))
    }
    if (!isByPeer)
      return this.#owner.fail(this.#call, reason ?? new ProtocolError('The stream of the call has ended'))
    const code =
      errorCode === ErrorCode.NO_ERROR && !this.#hasHead ? GrpcStatus.UNAVAILABLE : statusOfReset(errorCode)
    this.#owner.fail(this.#call, errorOfStatus(code, 'The server has reset the stream of the call'))
  }

  room(): void {
    this.#call.input?.resume()
  }

  // ── messages ─────────────────────────────────────────────────────────────────────────────────────────

  #message(isPacked: boolean, bytes: Uint8Array, size: number): void {
    if (this.#isOver) return
    if (this.#call instanceof PendingStream) {
      this.#waiting.push({ isPacked, bytes, size })
      return this.#passOn()
    }
    const read = this.#read(isPacked, bytes)
    if (read === undefined) return
    if (this.#method.serverStreams) return this.#first(read.value, read.length)
    if (this.#single !== undefined) return this.#wrong('The answer has more than one message')
    this.#single = read
    this.stream?.consumed(size)
  }

  /** Reads a message; `undefined`: the call has failed by it. */
  #read(isPacked: boolean, bytes: Uint8Array): Read | undefined {
    const unpacked = !isPacked
      ? bytes
      : this.#isPacked
        ? unpack(bytes, this.#owner.maxMessageSize)
        : 'not gzip'
    if (typeof unpacked === 'string') {
      // How long it would have become, nobody has counted.
      if (unpacked === 'too long') this.#tooLong(this.#owner.maxMessageSize + 1, 'or more unpacked bytes')
      else this.#wrong('A message is not compressed as its answer says')
      return undefined
    }
    try {
      return { value: this.#method.output.decode(unpacked), length: unpacked.length }
    } catch (error) {
      this.#owner.giveUp(this.#call, error as Error)
      return undefined
    }
  }

  /** Of a stream, a caller who wants one value gets the first, and the server is told that it is enough. */
  #first(value: unknown, size: number): void {
    try {
      this.#call.next(value, size)
    } catch (error) {
      return this.#owner.giveUp(this.#call, error as Error)
    }
    this.#owner.complete(this.#call)
    this.stream?.cancel(ErrorCode.CANCEL)
  }

  /** Passes on the values that the reader takes. */
  #passOn(): void {
    const call = this.#call
    while (this.#credit > 0 && this.#waiting.length > 0 && !this.#isOver && !this.#isPaused) {
      const { isPacked, bytes, size } = this.#waiting.shift() as Waiting
      this.#credit--
      this.stream?.consumed(size)
      const read = this.#read(isPacked, bytes)
      if (read === undefined) return
      try {
        call.next(read.value, read.length)
      } catch (error) {
        return this.#owner.giveUp(call, error as Error)
      }
      if (!this.#isOver) this.#credit += call.replenish()
    }
    if (this.#end !== undefined && this.#waiting.length === 0 && !this.#isOver) this.#settle(this.#end)
  }

  /** The reader has enough for now. One that asks for values itself gets those that it has asked for. */
  get #isPaused(): boolean {
    return this.#call.isPaused && this.#call.window < Number.POSITIVE_INFINITY
  }

  #finish(trailers: readonly Field[]): void {
    if (this.#waiting.length > 0) this.#end = trailers
    else this.#settle(trailers)
  }

  #settle(trailers: readonly Field[]): void {
    const status = fieldIn(trailers, 'grpc-status')
    if (status === undefined) return this.#wrong('The answer ends without a status')
    if (!this.#heard('trailers', trailers)) return
    const call = this.#call
    const code = readStatus(status)
    if (code !== GrpcStatus.OK) {
      const message = fieldIn(trailers, 'grpc-message') ?? ''
      return this.#owner.fail(
        call,
        errorOfStatus(code, message, fieldIn(trailers, 'grpc-status-details-bin'))
      )
    }
    if (call instanceof PendingStream) return this.#owner.complete(call)
    const single = this.#single
    // A stream may be empty.
    if (single === undefined && this.#method.serverStreams) return this.#owner.complete(call)
    if (single === undefined) return this.#wrong('The answer has no message')
    // An event has no value, and its answer says that it has arrived.
    if (call.kind !== 'event') call.next(single.value, single.length)
    this.#owner.complete(call)
  }

  /** Passes metadata to a caller who wants it. Returns false if the call has ended by that. */
  #heard(place: 'headers' | 'trailers', fields: readonly Field[]): boolean {
    const call = this.#call
    if (!call.asksForHeaders) return true
    const metadata: Metadata = {}
    for (const { name, value } of fields) addMetadata(metadata, name, value)
    if (Object.keys(metadata).length === 0) return true
    try {
      call.heard({ [place]: metadata })
    } catch (error) {
      this.#owner.giveUp(call, error as Error)
    }
    return !this.#isOver
  }

  #tooLong(size: number, unit: string): void {
    const error = new PayloadTooLargeError('limits.messageSize', this.#owner.maxMessageSize, size, unit)
    // Such an error usually means that the call was not sent. This call has run.
    this.#owner.giveUp(this.#call, Object.assign(error, { mayHaveRun: true }))
  }

  /** The server has broken the rules of gRPC. */
  #wrong(reason: string): void {
    this.#owner.giveUp(this.#call, new ProtocolError(reason))
  }
}

function fieldIn(fields: readonly Field[], wanted: string): string | undefined {
  for (const { name, value } of fields) if (name === wanted) return value
  return undefined
}

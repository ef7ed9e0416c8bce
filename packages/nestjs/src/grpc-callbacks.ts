/** The clients of services that `getClientByServiceName()` returns: with callbacks and streams, as those of grpc-js. */
import { EventEmitter } from 'node:events'
import { Duplex } from 'node:stream'
import { type ClientTransport, OptionError } from '@elysia-microservices/transport/kit'
import type { GrpcMetadata, NestMethod } from '@elysia-microservices/transport/nest'
import { callGrpc, extrasOf, type GrpcAnswer, type GrpcRunning } from './grpc-calls.ts'
import { canceled, type GrpcServiceError } from './grpc-error.ts'

type Callback = (error: GrpcServiceError | null, value?: unknown) => void

/** The transport that is open at the time of a call. */
export type OpenTransport = () => ClientTransport

/** One method with a callback or streams. */
export function callbackMethod(open: OpenTransport, method: NestMethod): (...args: unknown[]) => object {
  const where = `${method.service}.${method.name}`
  return (...args) => {
    const callback = method.serverStreams ? undefined : callbackIn(args, where)
    const data = method.clientStreams ? undefined : args.shift()
    const extras = extrasOf(args, where)
    const call = method.clientStreams || method.serverStreams ? new StreamCall(method) : new UnaryCall()
    const answer = callback === undefined ? call : answerTo(callback, call)
    const sent = method.clientStreams ? (call as StreamCall).written() : data
    call.begin(callGrpc(open(), method, sent, extras, answer))
    return call
  }
}

function callbackIn(args: unknown[], where: string): Callback {
  const last = args.pop()
  if (typeof last === 'function') return last as Callback
  throw OptionError.expected(where, 'a callback as the last argument', last)
}

/** Passes an answer of one value to a callback; the call tells of metadata and status. */
function answerTo(callback: Callback, call: GrpcAnswer): GrpcAnswer {
  let value: unknown
  return {
    metadata: (metadata) => call.metadata?.(metadata),
    next(given) {
      value = given
    },
    complete(trailers) {
      callback(null, value)
      call.complete(trailers)
    },
    error(error) {
      callback(error)
      call.error(error)
    }
  }
}

/** A call with one message in each direction. */
class UnaryCall extends EventEmitter implements GrpcAnswer {
  #running: GrpcRunning | undefined

  begin(running: GrpcRunning): void {
    this.#running = running
  }

  cancel(): void {
    this.#running?.cancel()
  }

  metadata(metadata: GrpcMetadata): void {
    this.emit('metadata', metadata)
  }

  next(): void {}

  complete(metadata: GrpcMetadata): void {
    this.emit('status', { code: 0, details: 'OK', metadata })
  }

  error({ code, details, metadata }: GrpcServiceError): void {
    this.emit('status', { code, details, metadata })
  }
}

/** A call with a stream in one direction or in both. */
class StreamCall extends Duplex implements GrpcAnswer {
  readonly #method: NestMethod
  #running: GrpcRunning | undefined
  /** Asks for the next value of the writer. */
  #taken: ((value?: unknown) => void) | undefined
  #waiting: { readonly value: unknown; readonly done: () => void } | undefined
  #hasEnded = false
  #isOver = false

  constructor(method: NestMethod) {
    super({ objectMode: true, readableHighWaterMark: 1, autoDestroy: false })
    this.#method = method
    if (!method.clientStreams) super.end()
    if (!method.serverStreams) this.push(null)
  }

  begin(running: GrpcRunning): void {
    this.#running = running
  }

  /** The values that are written, for the transport: a value is taken when there is room for it. */
  async *written(): AsyncGenerator<unknown> {
    while (true) {
      const waiting = this.#waiting
      this.#waiting = undefined
      if (waiting !== undefined) {
        try {
          yield waiting.value
        } finally {
          // Also if nothing more is taken, so that no writer waits for ever.
          waiting.done()
        }
      } else if (this.#hasEnded) return
      else
        await new Promise<void>((resolve) => {
          this.#taken = () => resolve()
        })
    }
  }

  cancel(): void {
    if (this.#isOver) return
    this.#running?.cancel()
    // The transport says nothing more of a stream that is canceled here.
    if (this.#method.serverStreams) this.error(canceled())
  }

  metadata(metadata: GrpcMetadata): void {
    this.emit('metadata', metadata)
  }

  next(value: unknown): boolean {
    return this.push(value)
  }

  complete(metadata: GrpcMetadata): void {
    this.#end()
    this.emit('status', { code: 0, details: 'OK', metadata })
  }

  error(error: GrpcServiceError): void {
    const { code, details, metadata } = error
    this.#end()
    // A call with a callback has told it there.
    if (this.#method.serverStreams) this.emit('error', error)
    this.emit('status', { code, details, metadata })
  }

  override _read(): void {
    this.#running?.resume()
  }

  override _write(value: unknown, _encoding: string, done: () => void): void {
    if (this.#isOver) return done()
    this.#waiting = { value, done }
    this.#taken?.()
  }

  override _final(done: () => void): void {
    this.#hasEnded = true
    this.#taken?.()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#isOver) this.#running?.cancel()
    this.#end()
    done(error)
  }

  /** Nothing more is taken of the writer, and nothing more comes. */
  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#hasEnded = true
    this.#waiting?.done()
    this.#waiting = undefined
    this.#taken?.()
    if (this.#method.serverStreams) this.push(null)
  }
}

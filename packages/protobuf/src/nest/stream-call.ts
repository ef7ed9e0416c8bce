/**
 * The call that handlers of Nest's `@GrpcStreamCall()` get: a stream of Node, from which they read the caller's messages
 * and into which they write the answer. Both directions wait for their slower end.
 */
import {
  consume,
  ErrorAnswer,
  FEED,
  type Feed,
  isStreamOfValues,
  type StreamSink,
  type StreamSource
} from '@elysia-microservices/transport/kit'
import type { GrpcMessage } from '@elysia-microservices/transport/nest'
import { callOver, type GrpcCallFacts, setMetadata, whenCancelled } from './call.ts'
import { noAnswer } from './failure.ts'

type Done = (error?: Error | null) => void
type Listener = (...args: never[]) => void

/** The members of Node's `Duplex` that are used. */
interface DuplexStream {
  readonly destroyed: boolean
  push(value: unknown): boolean
  on(event: string, listener: Listener): unknown
  emit(event: string, ...args: unknown[]): boolean
  destroy(): unknown
  end(): unknown
}

/** The class `Duplex` of Node. */
export type DuplexClass = new (options: { readonly objectMode: true }) => DuplexStream

/** A call, and the answer that its handler makes with it. */
export interface GrpcStreamCall extends GrpcCallFacts {
  /** The values that the handler writes. */
  readonly answer: object
  /** The function that handlers of methods with one answer get, too. */
  readonly callback: (error: unknown, value?: unknown, trailers?: unknown) => void
  /** The handler itself has failed. */
  fail(error: unknown): void
}

/**
 * Makes the class of calls.
 * @param Duplex of Node
 */
export function grpcStreamCallOver(Duplex: DuplexClass): new (message: GrpcMessage) => GrpcStreamCall {
  return class extends callOver(Duplex) implements GrpcStreamCall {
    readonly answer: object
    readonly #message: GrpcMessage
    readonly #out = new Written()
    #source: StreamSource | undefined
    #trailers: unknown
    /** The error that the handler has emitted: the answer ends with it, behind what was written before. */
    #failure: ErrorAnswer | undefined

    constructor(message: GrpcMessage) {
      super(message, { objectMode: true })
      this.#message = message
      this.answer = this.#out
      this.#out.left = () => this.#left()
      // As in grpc-js, an error that is emitted is the status of the call.
      this.on('error', (error: unknown) => {
        this.#failure ??= new ErrorAnswer(error)
        super.end()
      })
      whenCancelled(message, () => this.#left())
    }

    /** @param trailers metadata for the end of the answer */
    override end(trailers?: unknown): unknown {
      if (trailers !== undefined && trailers !== null) this.#trailers = trailers
      return super.end()
    }

    readonly callback = (error: unknown, value?: unknown, trailers?: unknown): void => {
      if (error !== undefined && error !== null) return this.fail(new ErrorAnswer(error))
      try {
        if (trailers !== undefined && trailers !== null) setMetadata(this.#message.set, 'trailers', trailers)
      } catch (wrong) {
        return this.fail(wrong)
      }
      this.#out.write(value, () => this.#out.end())
    }

    fail(error: unknown): void {
      this.#out.fail(error)
      this.#source?.cancel()
    }

    _read(): void {
      this.#source ??= this.#consume()
      this.#source.resume()
    }

    _write(value: unknown, _encoding: string, done: Done): void {
      this.#out.write(value, done)
    }

    _final(done: Done): void {
      try {
        if (this.#trailers !== undefined) setMetadata(this.#message.set, 'trailers', this.#trailers)
        if (this.#failure === undefined) this.#out.end()
        else this.#out.fail(this.#failure)
      } catch (error) {
        this.#out.fail(error)
      }
      done()
    }

    _destroy(error: Error | null, done: Done): void {
      this.#source?.cancel()
      this.#out.fail(error === null ? noAnswer() : new ErrorAnswer(error))
      done()
    }

    #left(): void {
      if (this.destroyed) return
      this.emit('cancelled', 'cancelled')
      this.destroy()
    }

    #consume(): StreamSource {
      const { data } = this.#message
      return consume(isStreamOfValues(data) ? data : [data][Symbol.iterator](), {
        next: (value) => (this.destroyed ? undefined : this.push(value)),
        complete: () => void (this.destroyed || this.push(null)),
        error: () => this.#left(),
        teardownFailed: () => {}
      })
    }
  }
}

/** The values that a handler has written, for the transport that takes them. */
class Written implements Feed {
  left: () => void = () => {}
  #sink: StreamSink | undefined
  /** A value that waits for the transport, and the function that asks for the next one. */
  #waiting: { readonly value: unknown; readonly isSent: boolean; readonly done: Done } | undefined
  #end: ((sink: StreamSink) => void) | undefined
  #isOver = false

  write(value: unknown, done: Done): void {
    if (this.#isOver || this.#end !== undefined) done()
    else this.#send(value, done)
  }

  [FEED](sink: StreamSink): StreamSource {
    this.#sink = sink
    return { resume: () => this.#resume(), cancel: () => this.#cancel() }
  }

  end(): void {
    this.#finish((sink) => sink.complete())
  }

  fail(error: unknown): void {
    this.#waiting = undefined
    this.#finish((sink) => sink.error(error))
  }

  #send(value: unknown, done: Done): void {
    const wantsMore = this.#sink?.next(value)
    if (wantsMore === true) done()
    else this.#waiting = { value, isSent: this.#sink !== undefined, done }
  }

  #finish(end: (sink: StreamSink) => void): void {
    if (this.#isOver) return
    this.#end ??= end
    if (this.#sink === undefined || this.#waiting?.isSent === false) return
    this.#isOver = true
    this.#end(this.#sink)
  }

  #resume(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting?.isSent === false) this.#send(waiting.value, waiting.done)
    else waiting?.done()
    if (this.#end !== undefined) this.#finish(this.#end)
  }

  #cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.left()
  }
}

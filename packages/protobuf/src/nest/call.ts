/** The third argument of Nest's handlers for gRPC: facts about the call, and metadata for its caller. */
import { type AnswerSet, OptionError } from '@elysia-microservices/transport/kit'
import {
  type GrpcMessage,
  type GrpcMetadata,
  readGrpcMetadata,
  valuesOfMetadata
} from '@elysia-microservices/transport/nest'
import { metadataOfFailure } from './failure.ts'

type Listener = (...args: unknown[]) => void

/** The class `EventEmitter` of Node. */
export type EmitterClass = new (
  options: undefined
) => {
  on(event: string, listener: Listener): unknown
  once(event: string, listener: Listener): unknown
  emit(event: string, ...args: unknown[]): boolean
}

/** The members that all kinds of calls have. */
export interface GrpcCallFacts {
  /** The metadata that the caller has sent. */
  readonly metadata: GrpcMetadata
  /** Whether the caller has left, or its deadline has passed. */
  readonly cancelled: boolean
  /** The address and the port of the other end; `unknown` without a connection. */
  getPeer(): string
  /** The time until which the caller waits, in milliseconds since 1970; `Infinity` if it waits for ever. */
  getDeadline(): number
  /** The path of the method, such as `/shop.v1.Orders/Get`. */
  getPath(): string
  /**
   * Sends metadata before the first value of the answer. Texts of one name are joined with commas.
   * @throws {OptionError} the answer has begun, or what is given is no metadata
   */
  sendMetadata(metadata: unknown): void
}

/** Calls the function when the caller of a message leaves; at once if it has left. */
export function whenCancelled({ signal }: Pick<GrpcMessage, 'signal'>, act: () => void): void {
  if (signal.aborted) act()
  else signal.addEventListener('abort', act, { once: true })
}

/** Makes the class from which the classes of calls are derived: a class of Node, with the facts of a message. */
export function callOver<Base extends object, Options>(
  NodeClass: new (options: Options) => Base
): new (
  message: GrpcMessage,
  options: Options
) => Base & GrpcCallFacts {
  class Call extends (NodeClass as new (options: Options) => object) implements GrpcCallFacts {
    readonly #message: GrpcMessage
    #metadata: GrpcMetadata | undefined

    constructor(message: GrpcMessage, options: Options) {
      super(options)
      this.#message = message
    }

    get metadata(): GrpcMetadata {
      this.#metadata ??= readGrpcMetadata(this.#message.metadata)
      return this.#metadata
    }

    get cancelled(): boolean {
      return this.#message.signal.aborted
    }

    getPeer(): string {
      const { address, port } = this.#message.peer ?? {}
      if (address === undefined) return 'unknown'
      return port === undefined ? address : `${address}:${port}`
    }

    getDeadline(): number {
      const { remaining } = this.#message
      return remaining === undefined ? Number.POSITIVE_INFINITY : Math.round(Date.now() + remaining)
    }

    getPath(): string {
      return `/${this.#message.calledMethod?.path ?? this.#message.pattern}`
    }

    sendMetadata(metadata: unknown): void {
      setMetadata(this.#message.set, 'headers', metadata)
    }
  }
  return Call as never
}

/**
 * Puts metadata beside an answer.
 * @throws {OptionError} it is no metadata, or cannot be sent any more
 */
export function setMetadata(set: AnswerSet, place: 'headers' | 'trailers', metadata: unknown): void {
  const all = valuesOfMetadata(metadata)
  if (all === undefined) throw OptionError.expected('metadata', 'an object of the class Metadata', metadata)
  for (const [name, values] of all) {
    const [first] = values
    if (first !== undefined)
      Reflect.set(set[place], name, typeof first === 'string' ? values.join(', ') : values)
  }
}

/**
 * Sends the metadata of an error of Nest's users, `new RpcException({ code, message, metadata })`, with the end of its
 * answer. @throws {OptionError} it cannot be sent
 */
export function noteMetadata(error: unknown, { set }: Pick<GrpcMessage, 'set'>): void {
  const metadata = metadataOfFailure(error)
  if (metadata !== undefined) setMetadata(set, 'trailers', metadata)
}

/** A call whose message and answer are values, and whose answer may be a stream of values. */
export interface GrpcCall extends GrpcCallFacts {
  /** The message of the caller; `undefined` if the caller sends a stream. */
  readonly request: unknown
}

/** Makes the class of calls; they emit `cancelled`, as in grpc-js. */
export function grpcCallOver(
  Emitter: EmitterClass
): new (
  message: GrpcMessage,
  request: unknown
) => GrpcCall {
  return class extends callOver(Emitter) implements GrpcCall {
    readonly request: unknown
    readonly #message: GrpcMessage
    #isWatched = false

    constructor(message: GrpcMessage, request: unknown) {
      super(message, undefined)
      this.request = request
      this.#message = message
    }

    override on(event: string, listener: Listener): unknown {
      this.#watch(event)
      return super.on(event, listener)
    }

    override once(event: string, listener: Listener): unknown {
      this.#watch(event)
      return super.once(event, listener)
    }

    addListener(event: string, listener: Listener): unknown {
      return this.on(event, listener)
    }

    /** Refuses what only a call of `@GrpcStreamCall()` can do. */
    write(): never {
      throw onlyForStreamCalls('write')
    }

    end(): never {
      throw onlyForStreamCalls('end')
    }

    /** Signals of messages are made when they are asked for. */
    #watch(event: string): void {
      if (event !== 'cancelled' || this.#isWatched) return
      this.#isWatched = true
      whenCancelled(this.#message, () => this.emit('cancelled', 'cancelled'))
    }
  }
}

function onlyForStreamCalls(method: string): OptionError {
  return new OptionError(
    `call.${method}`,
    `call.${method}() is for handlers of @GrpcStreamCall(); a handler of @GrpcMethod() or @GrpcStreamMethod() answers with what it returns`
  )
}

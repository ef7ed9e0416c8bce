/**
 * Methods of a `.proto`, and how handlers of Nest's decorators for gRPC are called. The code of such calls is in
 * `@elysia-microservices/protobuf`: transports with methods bring it, so that others need not have it.
 */
import type { AnswerSet } from './answer-headers.ts'

/** A method of a `.proto`, by which a message was called. */
export interface CalledMethod {
  /** Service and method, without a slash in front: `shop.v1.Orders/Get`. */
  readonly path: string
  /** Whether the caller sends a stream of values. */
  readonly clientStreams: boolean
  /** Whether the answer is a stream of values. */
  readonly serverStreams: boolean
}

/** The form of a handler: it gets the caller's message, an Observable of its messages, or the call itself. */
export type GrpcForm = 'no_stream' | 'rx_stream' | 'pt_stream'

/** A class that this package does not know. */
type UnknownClass = abstract new (...given: never[]) => object

/** Classes of rxjs and of Node. */
export interface GrpcClasses {
  readonly Observable: UnknownClass
  readonly EventEmitter: UnknownClass
  readonly Duplex: UnknownClass
}

/** The parts of a message that such a call has. */
export interface GrpcMessage {
  readonly data: unknown
  readonly metadata: unknown
  readonly pattern: string
  readonly peer: { readonly address: string | undefined; readonly port: number | undefined } | undefined
  readonly remaining: number | undefined
  readonly set: AnswerSet
  readonly signal: AbortSignal
  readonly calledMethod?: CalledMethod | undefined
  readonly invokeGrpc?: InvokeGrpc | undefined
}

/** One call of a handler. */
export interface GrpcInvocation {
  /** The arguments: data, metadata and call; of a handler of `@GrpcStreamCall()` the call and its callback. */
  readonly args: readonly unknown[]
  /** The answer for the transport. @param result of the handler */
  answer(result: unknown): unknown
}

/** Prepares one call. @param classes the same object for all calls */
export type InvokeGrpc = (classes: GrpcClasses, form: GrpcForm, message: GrpcMessage) => GrpcInvocation

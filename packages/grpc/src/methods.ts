/** The methods that calls name, and the codecs of their messages. Descriptors of `.proto` files have this shape. */
import type { SharedBytes } from '@elysia-microservices/protobuf'

/** Turns the values of one message type into bytes, and back. */
export interface MessageCodec {
  /** Encodes a value. `undefined` is the empty message. @throws the value does not fit the message */
  encode(value: unknown): Uint8Array
  /**
   * Encodes a value like `encode`, without bytes of its own. Default: `encode` is called.
   * @param room bytes to leave free in front of the message
   * @returns what the next call of any codec overwrites
   */
  encodeShared?(value: unknown, room: number): SharedBytes
  /** Reads a message. @throws the bytes are not such a message */
  decode(bytes: Uint8Array): unknown
}

/** One method. */
export interface GrpcMethod {
  /** Service and method, without a slash in front: `shop.v1.Orders/GetTotal`. */
  readonly path: string
  /** The pattern of its handler. */
  readonly pattern: string
  /** `'event'`: the answer is empty, and says only that the event has been taken. */
  readonly kind: 'message' | 'event'
  /** Whether the caller sends a stream of values. */
  readonly clientStreams: boolean
  /** Whether the answer is a stream of values. */
  readonly serverStreams: boolean
  /** The codec of the caller's values. */
  readonly input: MessageCodec
  /** The codec of the answer's values. */
  readonly output: MessageCodec
}

/** The methods of a service. What `loadProto()` returns has this shape. */
export interface GrpcMethods {
  /** The services by their full names, such as `shop.v1.Orders`, with their methods. Default: none is known. */
  readonly services?:
    | readonly { readonly name: string; readonly methods?: readonly GrpcMethod[] }[]
    | undefined
  /** All files as bytes of a `google.protobuf.FileDescriptorSet`: for reflection. */
  descriptors?(): Uint8Array
  /** The method at a path without a slash in front; `undefined` if there is none. */
  method(path: string): GrpcMethod | undefined
}

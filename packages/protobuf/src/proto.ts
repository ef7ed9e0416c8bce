/** The services of a `.proto`: methods, and a codec for each message. The interface between this package and a transport. */

/** A value that can be written as JSON. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }

/** The bytes of a message in memory that the next message uses again. */
export interface SharedBytes {
  readonly buffer: Uint8Array
  /** The position behind the message. */
  readonly length: number
}

/** Turns the values of one message type into bytes or JSON, and back. Values are plain objects: see `ProtoShapes`. */
export interface MessageCodec {
  /** The full name of the message, such as `shop.v1.Order`. */
  readonly typeName: string
  /**
   * Encodes a value. `undefined` and `null` are the empty message.
   * @returns bytes of their own, which no later call overwrites
   * @throws {OptionError} the value does not fit the message; `path` says where, such as `data.items[2].price`
   */
  encode(value: unknown): Uint8Array<ArrayBuffer>
  /**
   * Encodes a value like `encode`, without bytes of its own: for transports, which copy them at once.
   * @param room bytes to leave free in front of the message
   * @returns what the next call of any codec overwrites
   */
  encodeShared(value: unknown, room: number): SharedBytes
  /**
   * Reads a message. No bytes are the empty message.
   * @throws {ProtocolError} the bytes are not such a message; its text says where, such as `data.items`
   */
  decode(bytes: Uint8Array): unknown
  /**
   * The value as protobuf's JSON (https://protobuf.dev/programming-guides/json/), as Connect and gRPC's tools send it:
   * 64-bit numbers and times are texts, bytes are base64, and a field with its default is left out.
   * @throws {OptionError} the value does not fit the message
   */
  toJson(value: unknown): JsonValue
  /**
   * Reads protobuf's JSON. Unknown fields are ignored; names may be those of the `.proto` or in lowerCamelCase.
   * @throws {ProtocolError} the JSON is not such a message
   */
  fromJson(json: JsonValue): unknown
}

/** A method of a service: a pattern with the codecs of its two messages. */
export interface ProtoMethod {
  /** The full name of the service, such as `shop.v1.Orders`. */
  readonly service: string
  /** The name as in the `.proto`, such as `GetTotal`. */
  readonly name: string
  /** Service and method as in URLs, without the first slash: `shop.v1.Orders/GetTotal`. */
  readonly path: string
  /**
   * The pattern of the handler. For a `.proto` that others wrote it equals `path`; if the `.proto` was made from a
   * service, it is the pattern in that service, such as `orders.total`.
   */
  readonly pattern: string
  /** `'event'` for an event of a service of this library, whose answer is empty and says only that the event has been taken. */
  readonly kind: 'message' | 'event'
  /** Whether the caller sends a stream of values. */
  readonly clientStreams: boolean
  /** Whether the answer is a stream of values. */
  readonly serverStreams: boolean
  /** Whether the `.proto` says `idempotency_level = NO_SIDE_EFFECTS`: Connect allows GET for such a method. */
  readonly noSideEffects: boolean
  /** Whether running the method twice does no harm: `noSideEffects`, or `idempotency_level = IDEMPOTENT`. */
  readonly idempotent: boolean
  /** The codec of what callers send; for a stream, of each value. */
  readonly input: MessageCodec
  /** The codec of the answer; for a stream, of each value. */
  readonly output: MessageCodec
}

/** A service of a `.proto`. */
export interface ProtoService {
  /** The full name, such as `shop.v1.Orders`. */
  readonly name: string
  readonly methods: readonly ProtoMethod[]
}

/** The services of one or more `.proto` files. */
export interface Proto {
  readonly services: readonly ProtoService[]
  /** The method at a path such as `shop.v1.Orders/GetTotal`; a slash in front is ignored. */
  method(path: string): ProtoMethod | undefined
  /** The codec of a message by its full name, such as `google.rpc.ErrorInfo`; `undefined` if no file has the message. */
  message(typeName: string): MessageCodec | undefined
  /** All files as bytes of a `google.protobuf.FileDescriptorSet`, each after those it imports: for gRPC's reflection. */
  descriptors(): Uint8Array<ArrayBuffer>
}

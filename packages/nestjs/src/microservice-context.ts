/** What `@Ctx()` gives, and `switchToRpc().getContext()`. */
import type { Headers, IncomingMessage, Peer } from '@elysia-microservices/transport/kit'
import { type BaseRpcContext, type PacketMetadata, TcpContext } from '@nestjs/microservices'

type ContextArgs = [peer: Peer | undefined, pattern: string, metadata: PacketMetadata | undefined]

/**
 * Nest's class of contexts without its socket. Extending it keeps `instanceof TcpContext` true, which guards and
 * libraries ask; our peer is no `TcpSocket`, so its type is left out.
 */
const ContextWithoutSocket = TcpContext as unknown as new (
  args: ContextArgs
) => BaseRpcContext<ContextArgs> & Pick<TcpContext, 'getPattern' | 'getMetadata'>

/**
 * The context of one message. It has the methods of Nest's `TcpContext`: `getPattern()`, `getMetadata()`,
 * `getArgs()`, `getArgByIndex()`, `getSocketRef()`; and those of its `NatsContext`: `getSubject()`, `getHeaders()`.
 */
export class MicroserviceContext extends ContextWithoutSocket {
  readonly #message: IncomingMessage

  constructor(message: IncomingMessage) {
    super([message.peer, message.pattern, message.metadata as PacketMetadata | undefined])
    this.#message = message
  }

  /** The other end of the connection the message came on; `undefined` where there is none. Not a socket, as in Nest. */
  getSocketRef(): Peer | undefined {
    return this.#message.peer
  }

  /** The message itself, as controllers find it in services of `elysia-microservices`. */
  get message(): IncomingMessage {
    return this.#message
  }

  /** The pattern as text by which the message came: over NATS its subject. */
  getSubject(): string {
    return this.#message.route ?? this.#message.pattern
  }

  /** The headers by name. Over NATS Nest gives its driver's class, whose `get`, `has` and `keys` are here, too. */
  getHeaders(): ReadonlyMap<string, string> {
    return new Map(Object.entries(this.#message.headers))
  }

  /** What `setOnDispatchHook` of the caller attached, or its `headers`; empty if nothing. */
  get headers(): Headers {
    return this.#message.headers
  }

  /**
   * Aborts when nobody waits for the result any more: the caller has unsubscribed (RSocket), its deadline has
   * passed (RSocket), its connection is gone. Never for events.
   */
  get signal(): AbortSignal {
    return this.#message.signal
  }

  /** Milliseconds the caller said it would wait, counted from its sending; `undefined` if it did not say. */
  get timeout(): number | undefined {
    return this.#message.timeout
  }

  /** Milliseconds that are left of `timeout`, 0 if it has passed; `undefined` if the caller did not say. */
  get remaining(): number | undefined {
    return this.#message.remaining
  }

  /** Whether the caller waits for an answer. */
  get kind(): 'request' | 'event' {
    return this.#message.kind
  }
}

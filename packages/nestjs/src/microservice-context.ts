/** What `@Ctx()` gives, and `switchToRpc().getContext()`. */
import type { Connection, Headers, IncomingMessage } from '@elysia-microservices/transport'
import { type BaseRpcContext, type PacketMetadata, TcpContext } from '@nestjs/microservices'

type ContextArgs = [connection: Connection, pattern: string, metadata: PacketMetadata | undefined]

/**
 * Nest's class of contexts without its socket. Extending it keeps `instanceof TcpContext` true, which guards and
 * libraries ask; our connection is no `TcpSocket`, so its type is left out.
 */
const ContextWithoutSocket = TcpContext as unknown as new (
  args: ContextArgs
) => BaseRpcContext<ContextArgs> & Pick<TcpContext, 'getPattern' | 'getMetadata'>

/**
 * The context of one message. It has the methods of Nest's `TcpContext`: `getPattern()`, `getMetadata()`,
 * `getArgs()`, `getArgByIndex()`, `getSocketRef()`.
 */
export class MicroserviceContext extends ContextWithoutSocket {
  readonly #message: IncomingMessage

  constructor(message: IncomingMessage) {
    super([message.connection, message.pattern, message.metadata as PacketMetadata | undefined])
    this.#message = message
  }

  /** The connection the message came on: its `remoteAddress` and `remotePort`. Not a socket, as in Nest. */
  getSocketRef(): Connection {
    return this.#message.connection
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
  get deadline(): number | undefined {
    return this.#message.deadline
  }

  /** Milliseconds that are left of the deadline, 0 if it has passed; `undefined` if the caller did not say. */
  get remaining(): number | undefined {
    return this.#message.remaining
  }

  /** Whether the caller waits for an answer. */
  get kind(): 'request' | 'event' {
    return this.#message.kind
  }
}

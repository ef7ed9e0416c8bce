/** What `@Ctx()` gives: the message, with the methods of Nest's `TcpContext`. */
import type { Headers, Peer } from '@elysia-microservices/transport/kit'
import type { Message } from '../types/message.ts'

/**
 * The context of one message in a controller. `RpcContext<{ user: User }>` says what hooks of the service have added
 * to the message.
 */
export class RpcContext<Extras extends object = object> {
  /** The message itself: data, headers, signal, and what hooks of the service have added. */
  readonly message: Message & Extras

  constructor(message: Message) {
    this.message = message as Message & Extras
  }

  /** Headers the caller sent; empty if none. */
  get headers(): Headers {
    return this.message.headers
  }

  /** Aborts when nobody waits for the result any more. */
  get signal(): AbortSignal {
    return this.message.signal
  }

  /** Milliseconds the caller waits, counted from its sending; `undefined` if it does not say. */
  get timeout(): number | undefined {
    return this.message.timeout
  }

  /** Milliseconds that are left of `timeout`, 0 if it has passed; `undefined` if the caller does not say. */
  get remaining(): number | undefined {
    return this.message.remaining
  }

  /** Whether the caller waits for an answer. */
  get kind(): 'request' | 'event' {
    return this.message.kind
  }

  /** The pattern as the caller wrote it; an object pattern as its JSON text. */
  getPattern(): string {
    return this.message.pattern
  }

  /** What the caller sent beside the data, as it came; `undefined` if nothing. */
  getMetadata(): unknown {
    return this.message.metadata
  }

  /** The other end of the connection the message came on; `undefined` where there is none. Not a socket, as in Nest. */
  getSocketRef(): Peer | undefined {
    return this.message.peer
  }

  /** Peer, pattern and metadata. */
  getArgs(): [Peer | undefined, string, unknown] {
    return [this.getSocketRef(), this.getPattern(), this.getMetadata()]
  }

  /** One of `getArgs`. */
  getArgByIndex(index: number): unknown {
    return this.getArgs()[index]
  }
}

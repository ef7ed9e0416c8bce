/** What `@Ctx()` gives: the message, with the methods Nest's `TcpContext` has. */
import type { Connection, Headers } from '@elysia-microservices/transport'
import type { Message } from '../types/message.ts'

/** The context of one message in a controller. */
export class RpcContext {
  /** The message itself: data, headers, signal. */
  readonly message: Message

  constructor(message: Message) {
    this.message = message
  }

  /** Headers the caller sent; empty if none. */
  get headers(): Headers {
    return this.message.headers
  }

  /** Aborts when nobody waits for the result any more. */
  get signal(): AbortSignal {
    return this.message.signal
  }

  /** The pattern as the caller wrote it; an object pattern as its JSON text. */
  getPattern(): string {
    return this.message.pattern
  }

  /** What the caller sent beside the data, as it came; `undefined` if nothing. */
  getMetadata(): unknown {
    return this.message.metadata
  }

  /** The connection the message came on. */
  getSocketRef(): Connection {
    return this.message.connection
  }

  /** Connection, pattern and metadata. */
  getArgs(): [Connection, string, unknown] {
    return [this.getSocketRef(), this.getPattern(), this.getMetadata()]
  }

  /** One of `getArgs`. */
  getArgByIndex(index: number): unknown {
    return this.getArgs()[index]
  }
}

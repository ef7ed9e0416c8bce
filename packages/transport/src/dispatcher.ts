/** The interface between a transport and what answers its messages: a service, or a Nest application. */
import type { DurableSettings } from './durable/options.ts'
import type { IncomingMessage } from './message.ts'

/** A pattern that a dispatcher handles. Brokers subscribe by it. */
export interface Route {
  readonly kind: 'message' | 'event'
  /**
   * The canonical pattern, in which `*` stands for one part and `>` for the rest; `undefined` for a RegExp, which only
   * the dispatcher can match.
   */
  readonly route: string | undefined
  /** Its handlers are durable: see `via` of messages. `undefined`: they are not. */
  readonly durable?: DurableSettings | undefined
  /**
   * Facts about the handler as texts, for an engine that keeps a directory of services; `undefined`: callers are told
   * none.
   */
  readonly facts?: (() => Readonly<Record<string, string>>) | undefined
}

/** Takes messages to their handlers. */
export interface Dispatcher {
  /** All patterns that have a handler. */
  routes(): readonly Route[]
  /**
   * Handles a request. Returns a value, a promise, an Observable or an (async) iterator of values; throwing answers
   * with an error.
   * @throws {PatternNotFoundError} nobody handles the pattern
   */
  request(message: IncomingMessage): unknown
  /**
   * Gives an event to all its handlers and settles when all have ended: a draining server waits for this, and a broker
   * then acknowledges or delivers again. Throws or rejects with the failure of a handler, or with an
   * `EventHandlersError` of several failures.
   * @throws {PatternNotFoundError} nobody handles the pattern
   */
  event(message: IncomingMessage): void | Promise<void>
}

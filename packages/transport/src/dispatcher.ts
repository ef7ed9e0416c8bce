/** Who answers messages: the handlers of a plugin, a Nest application. Transports hand them what arrives. */
import type { IncomingMessage } from './message.ts'

/** A pattern that a dispatcher handles. Brokers subscribe by it. */
export interface Route {
  readonly kind: 'message' | 'event'
  /**
   * The canonical pattern: text, in which `*` stands for one part and `>` for the rest; `undefined` for a RegExp,
   * which only a dispatcher can match.
   */
  readonly route: string | undefined
}

/** Answers messages. */
export interface Dispatcher {
  /** All patterns it handles. */
  routes(): readonly Route[]
  /**
   * Answers a request with its value, or with a promise, an Observable or an (async) iterator of values. What it
   * throws is the answer too, as an error.
   * @throws {PatternNotFoundError} nobody handles the pattern
   */
  request(message: IncomingMessage): unknown
  /**
   * Hands an event to all its handlers, and settles with their outcome when all have ended: a draining server
   * waits for it, a broker acknowledges or delivers again. What it throws or rejects with is the failure; of several
   * failures an `EventHandlersError`.
   * @throws {PatternNotFoundError} nobody handles the pattern
   */
  event(message: IncomingMessage): void | Promise<void>
}

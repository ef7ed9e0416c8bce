/** The interface between a transport and the program that answers its messages: a service or a Nest application. */
import type { DurableSettings } from './durable/options.ts'
import type { IncomingMessage } from './message.ts'

/** A pattern that a dispatcher handles. Engines use it to subscribe. */
export interface Route {
  readonly kind: 'message' | 'event'
  /**
   * The canonical pattern, in which `*` stands for one segment and `>` for all further segments; `undefined` for a
   * RegExp, which only the dispatcher can match.
   */
  readonly route: string | undefined
  /** The RegExp of a handler that has one. */
  readonly regexp?: RegExp | undefined
  /**
   * The settings of the route's durable handlers (see `via` of messages). `undefined`: the handlers are not durable.
   */
  readonly durable?: DurableSettings | undefined
  /**
   * Facts about the handler as text, for an engine that keeps a directory of services; `undefined`: the directory gets
   * no facts.
   */
  readonly facts?: (() => Readonly<Record<string, string>>) | undefined
}

/** Passes messages to their handlers. */
export interface Dispatcher {
  /** Returns all patterns that have a handler. */
  routes(): readonly Route[]
  /**
   * Handles a request. Returns a value, a promise, an Observable or an (async) iterator of values. If it throws, the
   * caller gets the error as the answer.
   * @throws {PatternNotFoundError} no handler has the pattern
   */
  request(message: IncomingMessage): unknown
  /**
   * Passes an event to all its handlers and settles when all of them have ended: a draining server waits for this, and
   * an engine then acknowledges the event or delivers it again. Throws or rejects with the failure of a handler, or
   * with an `EventHandlersError` if several handlers fail.
   * @throws {PatternNotFoundError} no handler has the pattern
   */
  event(message: IncomingMessage): void | Promise<void>
}

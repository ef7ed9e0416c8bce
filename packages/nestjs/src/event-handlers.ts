/** The event handlers of a Nest application, by pattern. */

import type { MessageHandler } from '@nestjs/microservices'

/**
 * Stores all handlers of each pattern. Nest chains handlers of one pattern, so a handler that fails unsubscribes the
 * Observables of the others; and Nest loses event handlers whose pattern is also a message pattern. Here each handler
 * runs by itself.
 */
export class EventHandlers {
  readonly #byRoute = new Map<string, MessageHandler[]>()
  readonly #byFirst = new Map<MessageHandler, MessageHandler[]>()

  add(route: string, handler: MessageHandler): void {
    const handlers = this.#byRoute.get(route)
    if (handlers !== undefined) {
      handlers.push(handler)
      return
    }
    const first = [handler]
    this.#byRoute.set(route, first)
    this.#byFirst.set(handler, first)
  }

  /** Returns all handlers of a route, in order of registration; `undefined` if there is none. */
  ofRoute(route: string | undefined): readonly MessageHandler[] | undefined {
    return this.#byRoute.get(route as string)
  }

  /**
   * Returns all handlers of the pattern whose first handler is `handler`. A message handler is the only handler of its
   * pattern.
   */
  ofFirst(handler: MessageHandler): readonly MessageHandler[] {
    return this.#byFirst.get(handler) ?? [handler]
  }
}

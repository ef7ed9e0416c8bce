/** The event handlers of a Nest application, by pattern. */

import type { MessageHandler } from '@nestjs/microservices'

/**
 * Keeps all handlers of each pattern. Nest chains them, so that a handler that fails unsubscribes the Observables of
 * the others, and loses event handlers whose pattern is a message pattern too. Here each runs by itself.
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

  /** All handlers of a route, in order of registration; `undefined` if there is none. */
  ofRoute(route: string | undefined): readonly MessageHandler[] | undefined {
    return this.#byRoute.get(route as string)
  }

  /** All handlers of the pattern whose first handler this is. A message handler is the only one of its pattern. */
  ofFirst(handler: MessageHandler): readonly MessageHandler[] {
    return this.#byFirst.get(handler) ?? [handler]
  }
}

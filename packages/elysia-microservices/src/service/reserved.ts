/** Routes of the service itself, which are no handler's. */
import type { Dispatcher, IncomingMessage, Route } from '@elysia-microservices/transport/kit'

/** Routes of the service itself. */
export interface Reserved {
  readonly routes: readonly string[]
  answer(message: IncomingMessage): unknown
  /** Adds to the service's routes the facts that every caller may know; `undefined`: not every caller may. */
  readonly tell?: ((routes: readonly Route[]) => readonly Route[]) | undefined
}

/** A dispatcher that answers them, too. */
export function withReserved(
  registry: Dispatcher,
  { routes: own, answer, tell = (routes) => routes }: Reserved
): Dispatcher {
  const isOwn = (route: string | undefined) => route !== undefined && own.includes(route)
  return {
    routes: () => [...tell(registry.routes()), ...own.map((route): Route => ({ kind: 'message', route }))],
    request: (message) => (isOwn(message.route) ? answer(message) : registry.request(message)),
    event: (message) => registry.event(message)
  }
}

/** Routes that the service itself answers, without a handler of the user. */
import type { Dispatcher, IncomingMessage, Route } from '@elysia-microservices/transport/kit'

/** Routes that the service itself answers. */
export interface Reserved {
  readonly routes: readonly string[]
  answer(message: IncomingMessage): unknown
  /** Adds to the service's routes the facts that every caller may know; `undefined` if not every caller may ask. */
  readonly tell?: ((routes: readonly Route[]) => readonly Route[]) | undefined
}

/** Wraps a dispatcher so that it also answers the reserved routes. */
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

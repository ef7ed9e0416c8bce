/** The dispatcher of a door: each message goes to the services behind the door that expose a handler for it. */
import { type Dispatcher, PatternNotFoundError, RpcError } from '@elysia-microservices/transport/kit'
import type { Upgrade } from '../options.ts'
import type { Exposed } from './exposed.ts'

/**
 * Decides about an upgrade, and again about each request on its connection. Returns the reason for a refusal;
 * `undefined` to accept.
 */
export type Admits = (upgrade: Upgrade) => Promise<string | undefined>

/**
 * A dispatcher of all services that are in the set when a message arrives.
 * @param stopping services that stop: requests for them are refused, but their clients have sent events without
 * knowing of it, so they still handle these
 */
export function dispatcherOf(services: ReadonlySet<Exposed>, stopping: ReadonlySet<Exposed>): Dispatcher {
  return {
    routes: () => [...services].flatMap(({ dispatcher }) => dispatcher.routes()),
    request(message) {
      for (const service of services) if (service.takes(message)) return service.dispatcher.request(message)
      throw PatternNotFoundError.of(message.pattern)
    },
    event(message) {
      const those = [...services, ...stopping].filter((service) => service.takes(message))
      if (those.length === 0) throw PatternNotFoundError.of(message.pattern)
      if (those.length === 1) return (those[0] as Exposed).dispatcher.event(message)
      return Promise.all(those.map(async ({ dispatcher }) => dispatcher.event(message))).then(() => {})
    }
  }
}

/** The same dispatcher for the client of one upgrade, which checks each message with `admits`. */
export function admitting(dispatcher: Dispatcher, admits: Admits, upgrade: Upgrade): Dispatcher {
  const admitted = async (): Promise<void> => {
    const refusal = await admits(upgrade)
    if (refusal !== undefined) throw new RpcError({ code: 'FORBIDDEN', message: refusal })
  }
  return {
    routes: () => dispatcher.routes(),
    request: (message) => admitted().then(() => dispatcher.request(message)),
    event: (message) => admitted().then(() => dispatcher.event(message))
  }
}

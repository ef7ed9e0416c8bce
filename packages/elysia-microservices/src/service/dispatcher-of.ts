/** Finds the dispatcher of the service in a client's option `service`, which answers calls from the client's server. */
import { type Dispatcher, OptionError } from '@elysia-microservices/transport/kit'

/** The key of the method that returns a service's dispatcher. */
export const DISPATCHER = Symbol.for('elysia-microservices.dispatcher')

/** The dispatcher of a service. @throws {OptionError} `service` is not a service */
export function dispatcherOf(service: unknown): Dispatcher {
  const dispatcher = (Object(service) as { [DISPATCHER]?: unknown })[DISPATCHER]
  if (typeof dispatcher !== 'function')
    throw OptionError.expected('options.service', 'a service made by microservice()', service)
  return dispatcher() as Dispatcher
}

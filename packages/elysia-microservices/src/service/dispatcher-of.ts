/** How a client finds the handlers of a service that answers what its server asks. */
import { type Dispatcher, OptionError } from '@elysia-microservices/transport/kit'

/** The key of the method that gives a service's dispatcher. */
export const DISPATCHER = Symbol.for('elysia-microservices.dispatcher')

/** The dispatcher of a service. @throws {OptionError} it is none */
export function dispatcherOf(service: unknown): Dispatcher {
  const dispatcher = (Object(service) as { [DISPATCHER]?: unknown })[DISPATCHER]
  if (typeof dispatcher !== 'function')
    throw OptionError.expected('options.answers', 'a service made by microservice()', service)
  return dispatcher() as Dispatcher
}

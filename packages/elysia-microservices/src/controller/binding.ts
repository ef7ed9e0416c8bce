/** Handlers that a decorator binds to one of Nest's transports: `@MessagePattern('sum', Transport.NATS)`. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { nestTransportName, nestTransportOf } from '@elysia-microservices/transport/nest'

/** The transport to which a handler is bound. */
export interface Binding {
  /** Nest's number of the transport, or the symbol of the user's own strategy. */
  readonly transport: unknown
  /** The names of class and method, for error messages. */
  readonly where: string
}

/**
 * Whether a handler answers messages of a transport. `memory()` replaces any transport in tests, so it serves all
 * handlers.
 */
export function isServedBy({ transport }: Binding, name: string): boolean {
  return name === 'memory' || nestTransportOf(name) === transport
}

/**
 * Checks that each bound handler can be called. @throws {OptionError} a handler is bound to a transport that the
 * service does not have
 */
export function checkBindings(bindings: readonly Binding[], names: readonly string[]): void {
  for (const binding of bindings) {
    if (names.some((name) => isServedBy(binding, name))) continue
    const bound = nestTransportName(binding.transport)
    throw new OptionError(
      'options.controllers',
      `${binding.where} is bound to ${bound} by its decorator, and the service has only ${names.join(', ')}: nobody could call it. Leave the transport out of the decorator, or give the service that transport`
    )
  }
}

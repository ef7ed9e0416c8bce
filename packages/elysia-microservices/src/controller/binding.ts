/** Handlers that their decorator binds to one of Nest's transports: `@MessagePattern('sum', Transport.NATS)`. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { nestTransportName, nestTransportOf } from '@elysia-microservices/transport/nest'

/** To what a handler is bound. */
export interface Binding {
  /** Nest's number, or the symbol of somebody's own strategy. */
  readonly transport: unknown
  /** Class and method, for error messages. */
  readonly where: string
}

/** Whether a handler answers what comes over a transport. `memory()` stands for any, in tests. */
export function isServedBy({ transport }: Binding, name: string): boolean {
  return name === 'memory' || nestTransportOf(name) === transport
}

/** @throws {OptionError} a handler is bound to a transport that the service does not have */
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

/** Nest's numbers of transports (`Transport` of `@nestjs/microservices`), by our names. */
const NUMBERS: Readonly<Record<string, number>> = {
  tcp: 0,
  redis: 1,
  nats: 2,
  mqtt: 3,
  rabbitmq: 5,
  kafka: 6
}
/** Nest's names by its numbers. */
const NAMES = ['TCP', 'REDIS', 'NATS', 'MQTT', 'GRPC', 'RMQ', 'KAFKA']

/** Nest's number of one of our transports; `undefined` for one that Nest does not have. */
export function nestTransportOf(name: string): number | undefined {
  return NUMBERS[name]
}

/**
 * The name of a transport that one of Nest's decorators was given: a number of Nest's own, or a symbol of a custom
 * strategy.
 */
export function nestTransportName(transport: unknown): string {
  const name = typeof transport === 'number' ? NAMES[transport] : undefined
  return name === undefined ? String(transport) : `Transport.${name}`
}

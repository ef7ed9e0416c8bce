/** Nest's numbers of transports (`Transport` of `@nestjs/microservices`), by the names of this library. */
const NUMBERS: Readonly<Record<string, number>> = {
  tcp: 0,
  redis: 1,
  nats: 2,
  mqtt: 3,
  grpc: 4,
  // Connect and gRPC-Web carry the methods of gRPC.
  connect: 4,
  rabbitmq: 5,
  kafka: 6
}
/** Nest's names of transports, by Nest's numbers. */
const NAMES = ['TCP', 'REDIS', 'NATS', 'MQTT', 'GRPC', 'RMQ', 'KAFKA']

/** Returns Nest's number of a transport of this library; `undefined` if Nest does not have that transport. */
export function nestTransportOf(name: string): number | undefined {
  return NUMBERS[name]
}

/**
 * Returns the name of a transport that was passed to a decorator of Nest: a number of Nest's own, or the symbol of a
 * custom strategy.
 */
export function nestTransportName(transport: unknown): string {
  const name = typeof transport === 'number' ? NAMES[transport] : undefined
  return name === undefined ? String(transport) : `Transport.${name}`
}

/** What users of NATS need. */

export type { NatsDurableOptions } from './durable/options.ts'
export { type NatsTransport, nats } from './nats.ts'
export type { NatsOptions } from './options.ts'

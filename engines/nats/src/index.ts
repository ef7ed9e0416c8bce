/** The exports for users of NATS. */
export { fromNest } from './from-nest.ts'

export { type NatsTransport, nats } from './nats.ts'
export type { NatsDurableOptions } from './options/durable-options.ts'
export type { NatsOptions } from './options/options.ts'

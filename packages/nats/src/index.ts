/** What users of NATS need. */
export { type NatsTransport, nats } from './nats.ts'
export type { NatsOptions } from './options.ts'

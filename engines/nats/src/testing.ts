/** The exports for tests of this package: a server inside the process, and the cases that prove it. */

export { natsIo } from './connection/nats-io.ts'
export { natsBy } from './nats.ts'
export { NATS_NEST_OPTIONS } from './options/nest-options.ts'
export * from './testing/driver-cases.ts'
export * from './testing/fake-server.ts'

/** The exports for tests of this package: a cluster inside the process, and the cases that prove it. */

export { platformatic } from './connection/platformatic.ts'
export { kafkaBy } from './kafka.ts'
export { KAFKA_NEST_OPTIONS } from './options/nest-options.ts'
export * from './testing/driver-cases.ts'
export * from './testing/fake-cluster.ts'

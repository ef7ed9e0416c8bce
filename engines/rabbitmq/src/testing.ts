/** The exports for tests of this package: a server inside the process, and the cases that prove it. */

export { amqplib } from './connection/amqplib.ts'
export { RABBITMQ_NEST_OPTIONS } from './options/nest-options.ts'
export { rabbitmqBy } from './rabbitmq.ts'
export * from './testing/driver-cases.ts'
export * from './testing/fake-server.ts'

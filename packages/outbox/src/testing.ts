/** The exports for tests of other packages: a server of PostgreSQL, an address that can lead elsewhere, and the drivers. */
export { DRIVERS, type Driven, type Driver, drive, MAIN_DRIVER } from './testing/drivers.ts'
export { Forwarder } from './testing/forwarder.ts'
export { PostgresServer } from './testing/postgres-server.ts'

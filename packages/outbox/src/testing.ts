/** The exports for tests of other packages: a server of PostgreSQL, and the drivers. */
export { DRIVERS, type Driven, type Driver, drive, MAIN_DRIVER } from './testing/drivers.ts'
export { PostgresServer } from './testing/postgres-server.ts'

/** The exports for users of PostgreSQL. */
export type { PostgresOptions } from './options/options.ts'
export { type PostgresStore, type PublishingTransaction, postgres } from './postgres.ts'
export { migrateEvents } from './tables/migrate-events.ts'

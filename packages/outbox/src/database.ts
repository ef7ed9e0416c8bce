/** The exports for packages that keep something else in PostgreSQL: any driver, and migrations. */
export {
  type DatabaseSql,
  databaseOf,
  type TransactionOf,
  type TransactionSql,
  transactionOf
} from './database/adapter.ts'
export type { Connection, Database, Row } from './database/database.ts'
export { checkText } from './event.ts'
export { runMigrations } from './migrate.ts'
export type { Migration } from './migrations.ts'
export { checkSchema, inSchema, type SchemaOptions } from './schema.ts'

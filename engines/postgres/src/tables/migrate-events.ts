/** `migrateEvents()`: creates the tables. */
import { type DatabaseSql, runMigrations, type SchemaOptions } from '@elysia-microservices/outbox/database'
import { MIGRATIONS } from './migrations.ts'

/**
 * Creates the schema and its tables, or brings them up to date. If they are up to date, it only reads the table
 * `migrations`, which needs no other right. It may run at every start, also in several processes at the same time.
 * @throws {OptionError} `sql` or an option is invalid
 * @throws {ConnectionError} PostgreSQL cannot be reached
 */
export function migrateEvents(sql: DatabaseSql, options: SchemaOptions = {}): Promise<void> {
  return runMigrations(sql, options, MIGRATIONS)
}

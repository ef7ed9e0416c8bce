/** `migrate()`: creates the tables. */
import { checkNames } from '@elysia-microservices/transport/kit'
import { type DatabaseSql, databaseOf } from './database/adapter.ts'
import type { Connection } from './database/database.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'
import { checkSchema, inSchema, type SchemaOptions } from './schema.ts'

/**
 * Creates the schema and its tables, or brings them up to date. If they are up to date, it only reads the table
 * `migrations`, which needs no other right. It may run at every start, also in several processes at the same time. The
 * same statements are in the files of `lib/migrations`, for tools that migrate with files.
 * @throws {OptionError} `sql` or an option is invalid
 * @throws {ConnectionError} PostgreSQL cannot be reached
 */
export function migrate(sql: DatabaseSql, options: SchemaOptions = {}): Promise<void> {
  return runMigrations(sql, options, MIGRATIONS)
}

/** Runs those of a list of migrations that have not run yet. @throws as `migrate` does */
export async function runMigrations(
  sql: DatabaseSql,
  options: SchemaOptions,
  migrations: readonly Migration[]
): Promise<void> {
  checkNames('options', options, ['schema'])
  const schema = checkSchema(options.schema)
  const database = databaseOf(sql)
  const at = (statement: string) => inSchema(statement, schema)
  if ((await missing(database, schema, migrations)).length === 0) return
  await database.transaction(async (connection) => {
    // The lock is needed because even `create schema if not exists` fails if two processes run it at the same time.
    await connection.query('select pg_advisory_xact_lock(hashtextextended($1::text, 0))', [
      `${schema} migrations`
    ])
    if (!(await exists(connection, 'to_regnamespace', `"${schema}"`)))
      await connection.query(at(CREATE_SCHEMA))
    if (!(await hasMigrations(connection, schema))) await connection.query(at(CREATE_MIGRATIONS))
    for (const { name, statements } of await missing(connection, schema, migrations)) {
      await connection.query(at(statements))
      await connection.query(at(REMEMBER), [name])
    }
  })
}

/**
 * The migrations that have not run yet. Nothing that exists is created again, not even with `if not exists`: PostgreSQL
 * checks the right to create before it looks whether the thing exists.
 */
async function missing(
  connection: Connection,
  schema: string,
  migrations: readonly Migration[]
): Promise<readonly Migration[]> {
  if (!(await hasMigrations(connection, schema))) return migrations
  const statement = inSchema('select name from "elysia_microservices".migrations', schema)
  const done = new Set((await connection.query(statement)).map(({ name }) => name))
  return migrations.filter(({ name }) => !done.has(name))
}

function hasMigrations(connection: Connection, schema: string): Promise<boolean> {
  return exists(connection, 'to_regclass', `"${schema}".migrations`)
}

async function exists(
  connection: Connection,
  lookUp: 'to_regclass' | 'to_regnamespace',
  name: string
): Promise<boolean> {
  const [row] = await connection.query(`select ${lookUp}($1::text) is not null as found`, [name])
  return row!['found'] === true
}

const REMEMBER = 'insert into "elysia_microservices".migrations (name) values ($1::text)'

const CREATE_SCHEMA = 'create schema "elysia_microservices"'

/** Creates the table that remembers which migrations have run. */
const CREATE_MIGRATIONS = `create table if not exists "elysia_microservices".migrations (
  name text primary key,
  applied_at timestamptz not null default now()
)`

/**
 * The text of a migration file. It creates what it needs, runs once, and records that the migration is done, so
 * that `migrate()` does not run it again.
 * @param index the position of the migration in the list, from 0
 */
export function migrationFile(index: number): string {
  const { name, statements } = MIGRATIONS[index]!
  return `begin;
-- Without the notices that something exists.
set local client_min_messages = warning;
create schema if not exists "elysia_microservices";
${CREATE_MIGRATIONS};
insert into "elysia_microservices".migrations (name) values ('${name}');
${statements}
commit;
`
}

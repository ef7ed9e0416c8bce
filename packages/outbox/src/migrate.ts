/** `migrate()`: creates the tables. */
import { checkNames } from '@elysia-microservices/transport/kit'
import { type DatabaseSql, databaseOf } from './database/adapter.ts'
import { MIGRATIONS } from './migrations.ts'
import { checkSchema, inSchema, type SchemaOptions } from './schema.ts'

/**
 * Creates the schema and its tables, or brings them up to date. Does nothing if they are up to date. It may run at
 * every start, also in several processes at the same time. The same statements are in the files of
 * `lib/migrations`, for tools that migrate with files.
 * @throws {OptionError} `sql` or an option is invalid
 */
export async function migrate(sql: DatabaseSql, options: SchemaOptions = {}): Promise<void> {
  checkNames('options', options, ['schema'])
  const schema = checkSchema(options.schema)
  const database = databaseOf(sql)
  const at = (statement: string) => inSchema(statement, schema)
  await database.transaction(async (connection) => {
    // The lock is needed because even `create schema if not exists` fails if two processes run it at the same time.
    await connection.query('select pg_advisory_xact_lock(hashtextextended($1::text, 0))', [
      `${schema} migrations`
    ])
    await connection.query(MIGRATIONS_TABLE.map(at).join(';\n'))
    const done = await connection.query(at('select name from "elysia_microservices".migrations'))
    const names = new Set(done.map(({ name }) => name))
    for (const { name, statements } of MIGRATIONS) {
      if (names.has(name)) continue
      await connection.query(at(statements))
      await connection.query(at(REMEMBER), [name])
    }
  })
}

const REMEMBER = 'insert into "elysia_microservices".migrations (name) values ($1::text)'

/**
 * Creates the tables that the first migration needs. The first statement suppresses the notices that a table exists
 * already, which drivers would print.
 */
const MIGRATIONS_TABLE = [
  'set local client_min_messages = warning',
  'create schema if not exists "elysia_microservices"',
  `create table if not exists "elysia_microservices".migrations (
  name text primary key,
  applied_at timestamptz not null default now()
)`
]

/**
 * The text of a migration file. It creates what it needs, runs once, and records that the migration is done, so
 * that `migrate()` does not run it again.
 * @param index the position of the migration in the list, from 0
 */
export function migrationFile(index: number): string {
  const { name, statements } = MIGRATIONS[index]!
  return `begin;
${MIGRATIONS_TABLE.join(';\n')};
insert into "elysia_microservices".migrations (name) values ('${name}');
${statements}
commit;
`
}

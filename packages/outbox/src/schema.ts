/** The PostgreSQL schema that contains the tables. */
import { OptionError } from '@elysia-microservices/transport/kit'

/** The name of the schema in the statements of this package, and the default for users. */
const DEFAULT = 'elysia_microservices'

/** The option for the schema that contains the tables. */
export interface SchemaOptions {
  /**
   * The PostgreSQL schema of the tables: lower-case letters, digits and `_`, at most 48 characters, not beginning
   * with `pg_`, which PostgreSQL reserves. Default: `elysia_microservices`.
   */
  readonly schema?: string | undefined
}

/**
 * Checks the name of a schema, and returns it. @throws {OptionError} PostgreSQL does not accept the name, or the
 * name cannot be inserted into statements safely
 */
export function checkSchema(schema: unknown = DEFAULT): string {
  if (typeof schema === 'string' && /^(?!pg_)[a-z_][a-z0-9_]{0,47}$/.test(schema)) return schema
  throw OptionError.expected(
    'options.schema',
    'a name of lower-case letters, digits and _, of at most 48 characters, not beginning with pg_',
    schema
  )
}

/**
 * Replaces the default schema in a statement. Statements quote the name, because the name may be a keyword of SQL,
 * such as `select`.
 */
export function inSchema(statement: string, schema: string): string {
  return schema === DEFAULT ? statement : statement.replaceAll(DEFAULT, schema)
}

/** The channel on which a sleeping relay is woken. */
export function channelOf(schema: string): string {
  return `${schema}_outbox`
}

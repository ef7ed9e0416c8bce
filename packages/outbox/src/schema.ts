/** The schema of the database in which the tables are. */
import { OptionError } from '@elysia-microservices/transport/kit'

/** Its name in the statements of this package, and where nobody chooses another. */
const DEFAULT = 'elysia_microservices'

/** Where the tables are. */
export interface SchemaOptions {
  /**
   * The PostgreSQL schema of the tables: lower-case letters, digits and `_`, at most 48, not beginning with `pg_`, which
   * is PostgreSQL's own. Default: `elysia_microservices`.
   */
  readonly schema?: string | undefined
}

/** @throws {OptionError} the schema's name is not what PostgreSQL takes, or could not stand in a statement as it is */
export function checkSchema(schema: unknown = DEFAULT): string {
  if (typeof schema === 'string' && /^(?!pg_)[a-z_][a-z0-9_]{0,47}$/.test(schema)) return schema
  throw OptionError.expected(
    'options.schema',
    'a name of lower-case letters, digits and _, of at most 48, not beginning with pg_',
    schema
  )
}

/** A statement as it is for a schema. Statements quote the name, because it may be a word of SQL, such as `select`. */
export function inSchema(statement: string, schema: string): string {
  return schema === DEFAULT ? statement : statement.replaceAll(DEFAULT, schema)
}

/** The channel on which a relay that sleeps is woken. */
export function channelOf(schema: string): string {
  return `${schema}_outbox`
}

/** The use of PostgreSQL by one service or one client, over the connections of the user's own `sql`. */
import { type CarrierListener, unanswered, unreachable } from '@elysia-microservices/engine'
import { type DatabaseSql, databaseOf } from '@elysia-microservices/outbox/database'
import { endedWithin, OptionError, unlessAborted } from '@elysia-microservices/transport/kit'
import { toldAsLost } from './lost.ts'
import { Reach } from './reach.ts'
import { Tables } from './tables.ts'

/** Milliseconds within which the first statement must end: some drivers wait for ever for a server that says nothing. */
const ANSWERED_WITHIN = 30_000

export class PostgresConnection {
  readonly server: string
  readonly tables: Tables
  readonly reach: Reach

  private constructor(tables: Tables, listener: Pick<CarrierListener, 'lost' | 'restored'>) {
    this.server = `'${tables.schema}'`
    this.tables = tables
    this.reach = new Reach(() => tables.query('select 1'), listener)
  }

  /**
   * @throws {OptionError} the tables are missing
   * @throws {ConnectionError} PostgreSQL cannot be reached
   */
  static async open(
    sql: DatabaseSql,
    schema: string,
    listener: Pick<CarrierListener, 'lost' | 'restored' | 'signal'>
  ): Promise<PostgresConnection> {
    const tables = new Tables(databaseOf(sql), schema)
    // It only reads: what was to be done afterwards has not begun.
    const asked = tables.database
      .query(
        'select to_regclass($1::text) is not null as found, to_regclass($2::text) is not null as is_current',
        [`"${schema}".event_of_pattern`, `"${schema}".tally`]
      )
      .catch((error: unknown) => {
        throw toldAsLost(error, false)
      })
    if (!(await endedWithin(unlessAborted(asked, listener.signal), ANSWERED_WITHIN)))
      throw unreachable(
        'PostgreSQL',
        'the address of options.sql',
        unanswered(ANSWERED_WITHIN),
        'start PostgreSQL, or correct the address in the options of sql'
      )
    const [row] = await asked
    if (row?.['is_current'] !== true)
      throw new OptionError(
        'options.schema',
        `The schema ${schema} has ${row?.['found'] === true ? 'the tables of an older version; bring them up to date' : 'no tables of events; create them'}: await migrateEvents(sql${schema === 'elysia_microservices' ? '' : `, { schema: '${schema}' }`})`
      )
    return new PostgresConnection(tables, listener)
  }

  get isConnected(): boolean {
    return this.reach.isConnected
  }

  async close(): Promise<void> {
    this.reach.close()
  }
}

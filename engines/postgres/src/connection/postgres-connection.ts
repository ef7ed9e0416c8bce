/** The use of PostgreSQL by one service or one client, over the connections of the user's own `sql`. */
import type { CarrierListener } from '@elysia-microservices/engine'
import { type DatabaseSql, databaseOf } from '@elysia-microservices/outbox/database'
import { OptionError } from '@elysia-microservices/transport/kit'
import { Reach } from './reach.ts'
import { Tables } from './tables.ts'

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
    listener: Pick<CarrierListener, 'lost' | 'restored'>
  ): Promise<PostgresConnection> {
    const tables = new Tables(databaseOf(sql), schema)
    const [row] = await tables.query(
      `select to_regclass($1::text) is not null as found`,
      `"${schema}".event_of_pattern`
    )
    if (row?.['found'] !== true)
      throw new OptionError(
        'options.schema',
        `The schema ${schema} has no tables of events; create them: await migrateEvents(sql${schema === 'elysia_microservices' ? '' : `, { schema: '${schema}' }`})`
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

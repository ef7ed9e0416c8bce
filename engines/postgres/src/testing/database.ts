/** A server of PostgreSQL for the tests of a file, and databases in it. */
import { after, afterEach, before } from 'node:test'
import { databaseOf } from '@elysia-microservices/outbox/database'
import { type Driven, drive, MAIN_DRIVER, PostgresServer } from '@elysia-microservices/outbox/testing'
import { Tables } from '../connection/tables.ts'
import { migrateEvents } from '../tables/migrate-events.ts'

/** A database with the tables of events. */
export interface EventDatabase extends Driven {
  readonly url: string
  readonly tables: Tables
}

/** Starts the server before the tests of the file, and stops it after them. */
export function databases() {
  let server: PostgresServer
  const cleanUps: (() => Promise<unknown>)[] = []
  before(async () => {
    server = await PostgresServer.start()
  })
  after(() => server.stop())
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })
  return {
    /** Done after the test, the last one first. */
    cleanUp: (...tasks: readonly (() => Promise<unknown>)[]) => void cleanUps.push(...tasks),
    /** The address of a database without tables. */
    emptyDatabase: () => server.database(),
    async database(driver = MAIN_DRIVER, max?: number): Promise<EventDatabase> {
      const url = await server.database()
      const driven = drive(driver, url, max)
      cleanUps.push(() => driven.end())
      await migrateEvents(driven.sql)
      return { ...driven, url, tables: new Tables(databaseOf(driven.sql), 'elysia_microservices') }
    }
  }
}

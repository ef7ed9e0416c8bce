/** The suite of the seam over a server of PostgreSQL. */
import { storeTests } from '@elysia-microservices/engine-tests'
import { drive, MAIN_DRIVER, PostgresServer } from '@elysia-microservices/outbox/testing'
import { Link } from '@elysia-microservices/test-support'
import { migrateEvents, postgres } from './index.ts'

storeTests({
  name: 'postgres',
  title: 'PostgreSQL',
  stores: postgres({ sql: drive(MAIN_DRIVER, 'postgres://127.0.0.1:1/none').sql }).stores,
  hasServer: true,
  async start() {
    const server = await PostgresServer.start()
    const url = await server.database()
    const main = drive(MAIN_DRIVER, url, 20)
    await migrateEvents(main.sql)
    const all = [main]
    const at = (port: number) => {
      const driven = drive(MAIN_DRIVER, url.replace(`:${server.port}/`, `:${port}/`), 5)
      all.push(driven)
      return driven
    }
    return {
      port: server.port,
      store: ({ ackWait = 1_000, port } = {}) =>
        postgres({ sql: (port === undefined ? main : at(port)).sql, ackWait }),
      stop: () => server.kill(),
      start: () => server.start(),
      suspend() {},
      resume() {},
      async detour() {
        const link = await Link.start(server.port)
        return { port: link.port, stop: () => link.stop() }
      },
      async close() {
        for (const { end } of all) await end()
        await server.stop()
      }
    }
  }
})

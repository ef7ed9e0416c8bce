/** The suite of the seam over a server of PostgreSQL. */
import { storeTests } from '@elysia-microservices/engine-tests'
import { drive, MAIN_DRIVER, PostgresServer } from '@elysia-microservices/outbox/testing'
import { migrate, postgres } from './index.ts'

storeTests({
  name: 'postgres',
  title: 'PostgreSQL',
  stores: postgres({ sql: drive(MAIN_DRIVER, 'postgres://127.0.0.1:1/none').sql }).stores,
  hasServer: false,
  async start() {
    const server = await PostgresServer.start()
    const { sql, end } = drive(MAIN_DRIVER, await server.database(), 20)
    await migrate(sql)
    return {
      port: server.port,
      store: ({ ackWait = 1_000 } = {}) => postgres({ sql, ackWait }),
      stop: () => server.kill(),
      start: () => server.start(),
      suspend() {},
      resume() {},
      detour: () => Promise.reject(new Error('not tried')),
      async close() {
        await end()
        await server.stop()
      }
    }
  }
})

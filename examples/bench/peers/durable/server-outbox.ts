/** The database of an outbox, and the store its relay publishes to. Who asks over NATS is told where the database is. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { connect } from '@nats-io/transport-node'
import { BENCH_FOLDER } from '../../process/folder.ts'
import { runServer } from '../run-server.ts'
import { startStore } from './store.ts'
import { DATABASE } from './stream.ts'

/** What the tests of the outbox start; nobody else needs it, so no entry of the package has it. */
interface Postgres {
  database(): Promise<string>
  stop(): Promise<void>
}

const PROGRAM = join(BENCH_FOLDER, '../../packages/outbox/dist/testing/postgres-server.js')

await runServer(7042, async ({ host, port }) => {
  const { PostgresServer } = (await import(pathToFileURL(PROGRAM).href)) as {
    PostgresServer: { start(): Promise<Postgres> }
  }
  const postgres = await PostgresServer.start()
  const store = await startStore(host, port)
  const connection = await connect({ servers: `nats://${host}:${store.port}` })
  connection.subscribe(DATABASE, {
    callback: (_error, message) => void postgres.database().then((address) => message.respond(address))
  })
  await connection.flush()
  return {
    port: store.port,
    async stop() {
      await connection.close()
      await store.stop()
      await postgres.stop()
    }
  }
})

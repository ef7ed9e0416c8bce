/**
 * The database of an outbox, and the store to which its relay publishes. A client asks for the address of the
 * database over NATS.
 */
import { connect } from '@nats-io/transport-node'
import { startPostgres } from '../../process/postgres.ts'
import { runServer } from '../run-server.ts'
import { startStore } from './store.ts'
import { DATABASE } from './stream.ts'

await runServer(7042, async ({ host, port }) => {
  const postgres = await startPostgres()
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

/**
 * The store of events: a PostgreSQL server with an empty database. As in the tests, it does not wait for the disk,
 * unless `POSTGRES_FSYNC=on`. The publishers and consumers are measured in another process.
 */
import { startPostgres } from '../../process/postgres.ts'
import { runServer } from '../run-server.ts'
import { DATABASE } from './database.ts'

await runServer(7091, async () => {
  const postgres = await startPostgres()
  await postgres.database(DATABASE)
  return { port: postgres.port, stop: () => postgres.stop() }
})

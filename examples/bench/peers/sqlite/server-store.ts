/** No server: a file of SQLite belongs to the process that publishes and consumes. */
import { runServer } from '../run-server.ts'

await runServer(7095, async ({ port }) => {
  const still = setInterval(() => {}, 60_000)
  return { port: port === 0 ? 7095 : port, stop: async () => clearInterval(still) }
})

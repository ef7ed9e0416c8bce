/**
 * The store of events: a NATS server with JetStream in a new folder. The publishers and consumers are measured in
 * another process.
 */
import { runServer } from '../run-server.ts'
import { startStore } from './store.ts'

await runServer(7040, ({ host, port }) => startStore(host, port))

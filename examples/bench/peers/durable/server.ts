/** The store of events: a NATS server with JetStream in a folder of its own. Who publishes and takes is measured elsewhere. */
import { runServer } from '../run-server.ts'
import { startStore } from './store.ts'

await runServer(7040, ({ host, port }) => startStore(host, port))

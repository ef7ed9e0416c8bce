/** The store of events: a RabbitMQ server. Who publishes and takes is measured elsewhere. */
import { runServer } from '../run-server.ts'
import { startRabbitmqServer } from './rabbitmq-server.ts'

await runServer(7064, ({ host, port }) => startRabbitmqServer(host, port))

/** The store of events: a RabbitMQ server. The publishers and consumers are measured in another process. */
import { runServer } from '../run-server.ts'
import { startRabbitmqServer } from './rabbitmq-server.ts'

await runServer(7064, ({ host, port }) => startRabbitmqServer(host, port))

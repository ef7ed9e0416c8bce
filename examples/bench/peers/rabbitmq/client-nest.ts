/** Nest's own client over RabbitMQ. */
import { ClientProxyFactory, Transport } from '@nestjs/microservices'
import type { OpenEchoClient } from '../echo-client.ts'
import { askThrough } from '../nest/client-proxy.ts'
import { queueOf } from './queue.ts'

export const openEchoClient: OpenEchoClient = async (host, port, plan) => {
  const client = ClientProxyFactory.create({ transport: Transport.RMQ, options: queueOf(host, port) })
  await client.connect()
  return askThrough(client, plan)
}

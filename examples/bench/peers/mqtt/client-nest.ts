/** Nest's own client over MQTT. */
import { ClientProxyFactory, Transport } from '@nestjs/microservices'
import type { OpenEchoClient } from '../echo-client.ts'
import { askThrough } from '../nest/client-proxy.ts'

export const openEchoClient: OpenEchoClient = async (host, port, plan) => {
  const client = ClientProxyFactory.create({
    transport: Transport.MQTT,
    options: { url: `mqtt://${host}:${port}` }
  })
  await client.connect()
  return askThrough(client, plan)
}

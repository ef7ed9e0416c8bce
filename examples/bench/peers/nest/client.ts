/** NestJS's own client, created by `ClientProxyFactory`. */
import { ClientProxyFactory, Transport } from '@nestjs/microservices'
import type { OpenEchoClient } from '../echo-client.ts'
import { askThrough } from './client-proxy.ts'

export const openEchoClient: OpenEchoClient = async (host, port, plan) => {
  const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { host, port } })
  await client.connect()
  return askThrough(client, plan)
}

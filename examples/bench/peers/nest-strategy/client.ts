/** NestJS's `ClientProxy` with this project's transport: `customClass` is the other changed line. */
import { MicroserviceClient } from '@elysia-microservices/nestjs'
import { ClientProxyFactory } from '@nestjs/microservices'
import type { OpenEchoClient } from '../echo-client.ts'
import { askThrough } from '../nest/client-proxy.ts'

export const openEchoClient: OpenEchoClient = async (host, port, plan) => {
  const client = ClientProxyFactory.create({ customClass: MicroserviceClient, options: { host, port } })
  await client.connect()
  return askThrough(client, plan)
}

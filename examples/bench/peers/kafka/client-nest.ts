/** Nest's own client over Kafka. */
import { randomUUID } from 'node:crypto'
import { ClientKafka, type ClientProxy } from '@nestjs/microservices'
import { logLevel } from 'kafkajs'
import type { OpenEchoClient } from '../echo-client.ts'
import { askThrough } from '../nest/client-proxy.ts'

export const openEchoClient: OpenEchoClient = async (host, port, plan) => {
  const client = new ClientKafka({
    client: { brokers: [`${host}:${port}`], logLevel: logLevel.NOTHING },
    // A group for each client: clients of one group would share the answers.
    consumer: { groupId: randomUUID() }
  })
  for (const pattern of new Set([plan.pattern, 'count'])) client.subscribeToResponseOf(pattern)
  await client.connect()
  // The type of its status contradicts the type that it extends.
  return askThrough(client as unknown as ClientProxy, plan)
}

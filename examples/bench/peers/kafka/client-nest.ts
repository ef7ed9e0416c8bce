/** Nest's own client over Kafka. */
import { randomUUID } from 'node:crypto'
import { ClientKafka, type ClientProxy } from '@nestjs/microservices'
import { logLevel } from 'kafkajs'
import type { OpenEchoClient } from '../echo-client.ts'
import { askThrough } from '../nest/client-proxy.ts'

export const openEchoClient: OpenEchoClient = async (host, port, plan) => {
  const client = new ClientKafka({
    client: { brokers: [`${host}:${port}`], logLevel: logLevel.NOTHING },
    // Clients of one group would share the answers among them.
    consumer: { groupId: randomUUID() }
  })
  for (const pattern of new Set([plan.pattern, 'count'])) client.subscribeToResponseOf(pattern)
  await client.connect()
  // Its status has other names than what it derives from says.
  return askThrough(client as unknown as ClientProxy, plan)
}

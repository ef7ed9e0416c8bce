/** This project's durable events over Redis Streams. */
import { randomUUID } from 'node:crypto'
import { redis } from '@elysia-microservices/redis'
import { Redis } from 'ioredis'
import { storedEvents } from '../durable/ours.ts'
import { fillBy, PATTERN } from '../durable/stream.ts'
import type { OpenEchoClient } from '../echo-client.ts'

export const openEchoClient: OpenEchoClient = (host, port, plan) => {
  const data = plan.payload.value
  return storedEvents({
    plan,
    transport: () => redis({ host, port }),
    async fill(client, count) {
      // Publishes one event, so that the stream exists.
      await client.publish(PATTERN, data)
      const bare = new Redis({ host, port, enableAutoPipelining: true })
      const packet = JSON.stringify({ pattern: PATTERN, data })
      const publish = () =>
        bare.xadd(`_elysia:{events}:s:${PATTERN}`, '*', 'packet', packet, 'id', randomUUID())
      await fillBy(count - 1, publish, publish)
      bare.disconnect()
    }
  })
}

/** This project's durable events over JetStream. */
import { nats } from '@elysia-microservices/nats'
import { connect as connectBare, headers as newHeaders, nuid } from '@nats-io/transport-node'
import type { OpenEchoClient } from '../echo-client.ts'
import { storedEvents } from './ours.ts'
import { fillBy, PATTERN } from './stream.ts'

export const openEchoClient: OpenEchoClient = (host, port, plan) => {
  const servers = `nats://${host}:${port}`
  const data = plan.payload.value
  return storedEvents({
    plan,
    transport: () => nats({ url: servers }),
    async fill(client, count) {
      // Publishes one event, so that the stream exists.
      await client.publish(PATTERN, data)
      const bare = await connectBare({ servers })
      const packet = JSON.stringify({ pattern: PATTERN, data })
      const publish = () => {
        const headers = newHeaders()
        headers.set('Nats-Msg-Id', nuid.next())
        bare.publish(PATTERN, packet, { headers })
      }
      await fillBy(count - 1, publish, async () => {
        await bare.flush()
        await client.publish(PATTERN, data)
      })
      await bare.close()
    }
  })
}

/** This project's durable events over JetStream: `publish()`, and a durable handler. */
import { nats } from '@elysia-microservices/nats'
import { connect as connectBare, headers as newHeaders, nuid } from '@nats-io/transport-node'
import { type AnyMicroservice, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import type { OpenEchoClient } from '../echo-client.ts'
import { fillBy, PATTERN } from './stream.ts'

const silent = { error: () => {}, warn: () => {} }

export const openEchoClient: OpenEchoClient = async (host, port, { payload, window }) => {
  const servers = `nats://${host}:${port}`
  const transport = () => nats({ servers })
  const client = connect({ transport: transport(), logger: silent })
  await client.connect()
  let service: AnyMicroservice | undefined
  return {
    echo: (_payload, _answered, failed) => failed(new Error('Nothing is answered here')),
    emit: (data) => client.publish(PATTERN, data),
    async fill(count) {
      // So that there is a stream.
      await client.publish(PATTERN, payload.value)
      // What `publish` stores, without its waiting.
      const bare = await connectBare({ servers })
      const packet = JSON.stringify({ pattern: PATTERN, data: payload.value })
      const publish = () => {
        const headers = newHeaders()
        headers.set('Nats-Msg-Id', nuid.next())
        bare.publish(PATTERN, packet, { headers })
      }
      await fillBy(count - 1, publish, async () => {
        await bare.flush()
        await client.publish(PATTERN, payload.value)
      })
      await bare.close()
    },
    async takeStored(take) {
      service = microservice({ name: 'bench', transport: transport(), logger: silent }).event(
        PATTERN,
        ({ data }) => take(data),
        // As many again are here in advance.
        { durable: { start: 'all', concurrency: Math.ceil(window / 2) } }
      )
      await service.listen()
    },
    async close() {
      await service?.stop()
      await client.close()
    }
  }
}

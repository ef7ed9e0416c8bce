/** This project's client over NATS. */
import { nats } from '@elysia-microservices/nats'
import { connect } from 'elysia-microservices/client'
import { firstValueFrom } from 'rxjs'
import type { OpenEchoClient } from '../echo-client.ts'

const silent = { error: () => {}, warn: () => {} }

export const openEchoClient: OpenEchoClient = async (host, port, { method, pattern }) => {
  const client = connect({ transport: nats({ servers: `nats://${host}:${port}` }), logger: silent })
  await client.connect()
  return {
    echo:
      method === 'request'
        ? (payload, answered, failed) => {
            client.request(pattern, payload).then(answered, failed)
          }
        : (payload, answered, failed) => {
            firstValueFrom(client.send(pattern, payload)).then(answered, failed)
          },
    close: () => client.close()
  }
}

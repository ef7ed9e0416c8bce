/** This project's client, as `connect()` makes it. */
import { connect } from 'elysia-microservices/client'
import { firstValueFrom } from 'rxjs'
import type { OpenEchoClient } from './echo-client.ts'

// What goes wrong is counted; nothing needs to be said about each connection of a lost server.
const silent = { error: () => {}, warn: () => {} }

export const openEchoClient: OpenEchoClient = async (host, port, { method, protocol, codec }) => {
  const client = connect({ transport: 'tcp', protocol, codec, host, port, logger: silent })
  await client.connect()
  return {
    echo:
      method === 'request'
        ? (payload, answered, failed) => {
            client.request('echo', payload).then(answered, failed)
          }
        : (payload, answered, failed) => {
            firstValueFrom(client.send('echo', payload)).then(answered, failed)
          },
    close: () => client.close()
  }
}

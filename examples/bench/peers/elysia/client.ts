/** This project's client, as `connect()` makes it. */
import { connect } from 'elysia-microservices/client'
import { firstValueFrom } from 'rxjs'
import type { OpenEchoClient } from '../echo-client.ts'
import { iterate, subscribe } from '../read-stream.ts'

// What goes wrong is counted; nothing needs to be said about each connection of a lost server.
const silent = { error: () => {}, warn: () => {} }

export const openEchoClient: OpenEchoClient = async (host, port, plan) => {
  const { method, protocol, codec, pattern, headers, tls, task } = plan
  const isIterated = task.mode === 'stream' && task.take === 'iterate'
  const rsocket = { codec }
  const client = connect({ transport: 'tcp', protocol, rsocket, host, port, tls, logger: silent })
  await client.connect()
  const options = headers === undefined ? undefined : { headers }
  return {
    echo:
      method === 'request'
        ? (payload, answered, failed) => {
            client.request(pattern, payload, options).then(answered, failed)
          }
        : (payload, answered, failed) => {
            firstValueFrom(client.send(pattern, payload, options)).then(answered, failed)
          },
    stream: (count, reader) =>
      isIterated
        ? iterate(client.stream('count', count), reader)
        : subscribe(client.send('count', count), reader),
    emit: (payload) => client.emit('event', payload),
    close: () => client.close()
  }
}

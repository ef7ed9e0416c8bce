/** How an application with our client makes requests, over any transport. */
import type { UntypedClient } from 'elysia-microservices/client'
import { firstValueFrom } from 'rxjs'
import type { ClientPlan, EchoClient } from '../echo-client.ts'
import { iterate, subscribe } from '../read-stream.ts'

/** A logger without output: failures are counted, and lines for each connection of a lost server would not help. */
export const silent = { error: () => {}, warn: () => {} }

/** The echo client for a connected client of this project. */
export function askThrough(
  client: UntypedClient,
  { method, pattern, headers, task }: ClientPlan
): EchoClient {
  const isIterated = task.mode === 'stream' && task.take === 'iterate'
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

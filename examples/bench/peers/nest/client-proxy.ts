/** How an application of Nest asks, whatever its messages travel by. */
import { Logger } from '@nestjs/common'
import type { ClientProxy } from '@nestjs/microservices'
import { firstValueFrom, lastValueFrom } from 'rxjs'
import type { ClientPlan, EchoClient } from '../echo-client.ts'
import { subscribe } from '../read-stream.ts'

// Nest logs a lost connection for each client, partly to stdout, where only the result may go. It is counted anyway.
Logger.overrideLogger(false)

/** The echo client that is this client, which is connected. */
export const askThrough = (client: ClientProxy, { method, pattern }: ClientPlan): EchoClient => ({
  echo:
    method === 'request'
      ? (payload, answered, failed) => {
          let answer: unknown
          // Subscribing is the cheapest way Nest offers. The call is over at `complete`, when Nest has let go of
          // the request.
          client.send<unknown>(pattern, payload).subscribe({
            next: (value) => {
              answer = value
            },
            complete: () => answered(answer),
            error: failed
          })
        }
      : (payload, answered, failed) => {
          firstValueFrom(client.send<unknown>(pattern, payload)).then(answered, failed)
        },
  stream: (count, reader) => subscribe(client.send<unknown>('count', count), reader),
  emit: (payload) => lastValueFrom(client.emit('event', payload), { defaultValue: undefined }),
  close: async () => client.close()
})

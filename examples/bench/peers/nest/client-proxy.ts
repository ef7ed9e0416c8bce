/** How a NestJS application makes requests, over any transport. */
import { Logger } from '@nestjs/common'
import type { ClientProxy } from '@nestjs/microservices'
import { firstValueFrom, lastValueFrom } from 'rxjs'
import type { ClientPlan, EchoClient } from '../echo-client.ts'
import { subscribe } from '../read-stream.ts'

// NestJS logs each lost connection, partly to stdout, which is reserved for the result. Lost connections are counted
// anyway.
Logger.overrideLogger(false)

/** The echo client for a connected client of NestJS. */
export const askThrough = (client: ClientProxy, { method, pattern }: ClientPlan): EchoClient => ({
  echo:
    method === 'request'
      ? (payload, answered, failed) => {
          let answer: unknown
          // Subscribing is the cheapest way in NestJS. The call ends at `complete`, when NestJS has removed the
          // request.
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

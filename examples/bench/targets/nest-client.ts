/** Nest's own client, as `ClientProxyFactory` makes it. */
import { Logger } from '@nestjs/common'
import { ClientProxyFactory, Transport } from '@nestjs/microservices'
import { firstValueFrom } from 'rxjs'
import type { OpenEchoClient } from './echo-client.ts'

// Nest logs a lost connection for each client, partly to stdout, where only the result may go. It is counted anyway.
Logger.overrideLogger(false)

export const openEchoClient: OpenEchoClient = async (host, port, { method, pattern }) => {
  const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { host, port } })
  await client.connect()
  return {
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
    close: async () => client.close()
  }
}

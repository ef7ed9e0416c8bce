/** tRPC's client over WebSocket, with one connection for each client. */
import { createTRPCClient, createWSClient, wsLink } from '@trpc/client'
import { WebSocket } from 'ws'
import type { OpenEchoClient } from '../../peers/echo-client.ts'
import { inTurn } from '../../peers/read-stream.ts'
import { deferred } from '../../process/deferred.ts'
import type { EchoRouter } from './router.ts'

export const openEchoClient: OpenEchoClient = async (host, port) => {
  const opened = deferred()
  const connection = createWSClient({
    url: `ws://${host}:${port}`,
    // Node before version 22 has no WebSocket of its own.
    WebSocket: globalThis.WebSocket ?? WebSocket,
    onOpen: () => opened.resolve(),
    onError: () => opened.reject(new Error('the WebSocket could not be opened'))
  })
  // Otherwise the client would try again for ever.
  await opened.promise.catch((error: unknown) => {
    void connection.close()
    throw error
  })
  const client = createTRPCClient<EchoRouter>({ links: [wsLink({ client: connection })] })
  return {
    echo: (payload, answered, failed) => {
      client.echo.query(payload).then(answered, failed)
    },
    stream: (count, pushed) => {
      const reader = inTurn(pushed)
      const subscription = client.count.subscribe(count, {
        onData: reader.value,
        onComplete: reader.ended,
        onError: reader.failed
      })
      return () => {
        subscription.unsubscribe()
        pushed.ended()
      }
    },
    close: async () => {
      await connection.close()
    }
  }
}

/** The client of rsocket-js, RSocket's implementation in JavaScript. */
import type { OpenEchoClient } from '../echo-client.ts'
import { makeClient, type RSocket } from './library.ts'

export const openEchoClient: OpenEchoClient = async (host, port, { payload: { shape } }) => {
  const client = makeClient(host, port, shape)
  const socket = await new Promise<RSocket>((resolve, reject) => {
    client.connect().subscribe({ onComplete: resolve, onError: reject })
  })
  return {
    echo: (data, answered, failed) => {
      socket.requestResponse({ data }).subscribe({
        onComplete: (answer) => answered(answer.data),
        onError: failed
      })
    },
    close: async () => client.close()
  }
}

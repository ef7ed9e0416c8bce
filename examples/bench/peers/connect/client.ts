/** Connect's client for Node: its own protocol, binary messages, HTTP/2, a connection for each client. */
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node'
import type { OpenEchoClient } from '../echo-client.ts'
import { WAYS } from '../echo-proto.ts'
import { loadEchoService } from './service.ts'

type Method = (message: unknown) => Promise<{ readonly value?: unknown }>

export const openEchoClient: OpenEchoClient = async (host, port, { payload: { shape } }) => {
  const baseUrl = `http://${host}:${port}`
  const sessionManager = new Http2SessionManager(baseUrl)
  if ((await sessionManager.connect()) === 'error') throw sessionManager.error()
  const transport = createConnectTransport({ httpVersion: '2', baseUrl, sessionManager })
  const { method, wrapped } = WAYS[shape]
  const client = createClient(loadEchoService(), transport) as unknown as Record<string, Method>
  const ask = client[method.toLowerCase()]!
  return {
    echo: (payload, answered, failed) => {
      ask(wrapped ? { value: payload } : payload).then(
        (answer) => answered(wrapped ? answer.value : answer),
        failed
      )
    },
    close: async () => sessionManager.abort()
  }
}

/**
 * Connect's client for Node, with its own protocol, binary messages and HTTP/2, and one connection for each client.
 */
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node'
import type { OpenEchoClient } from '../../peers/echo-client.ts'
import { WAYS } from '../../peers/grpc/echo-methods.ts'
import { loadEchoService } from './service.ts'

type Method = (message: unknown) => Promise<{ readonly value?: unknown }>
type Count = (message: { values: number }, options: { signal: AbortSignal }) => AsyncIterable<unknown>

export const openEchoClient: OpenEchoClient = async (host, port, { payload: { shape } }) => {
  const baseUrl = `http://${host}:${port}`
  const sessionManager = new Http2SessionManager(baseUrl)
  if ((await sessionManager.connect()) === 'error') throw sessionManager.error()
  const transport = createConnectTransport({ httpVersion: '2', baseUrl, sessionManager })
  const { method, wrapped } = WAYS[shape]
  const client = createClient(loadEchoService(), transport) as unknown as Record<string, Method>
  const ask = client[method.toLowerCase()]!
  const count = client['count'] as unknown as Count
  return {
    echo: (payload, answered, failed) => {
      ask(wrapped ? { value: payload } : payload).then(
        (answer) => answered(wrapped ? answer.value : answer),
        failed
      )
    },
    stream: (values, reader) => {
      const left = new AbortController()
      const read = async () => {
        for await (const value of count({ values }, left)) {
          const taken = reader.value(value)
          if (taken !== undefined) await taken
        }
      }
      read().then(reader.ended, (error) => (left.signal.aborted ? reader.ended() : reader.failed(error)))
      return () => left.abort()
    },
    close: async () => sessionManager.abort()
  }
}

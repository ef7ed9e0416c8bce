/** Connect's server for Node over HTTP/2: every method answers with its message, except `Count`, which streams. */
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { runServer } from '../../peers/run-server.ts'
import { recordsLater } from '../../peers/work.ts'
import { loadEchoService } from './service.ts'

await runServer(7012, async ({ host, port, work }) => {
  const service = loadEchoService()
  const handlers = Object.fromEntries(
    service.methods.map(({ localName, methodKind }) => [
      localName,
      methodKind === 'unary'
        ? (message: unknown) => work.answer(message)
        : ({ values }: { values: number }) => recordsLater(values)
    ])
  )
  const server = createServer(
    connectNodeAdapter({ routes: (router) => router.service(service, handlers as object) })
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return { port: (server.address() as AddressInfo).port, stop: async () => void server.close() }
})

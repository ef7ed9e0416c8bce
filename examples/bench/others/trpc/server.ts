/** tRPC's server over WebSocket, which uses one connection for many calls. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { runServer } from '../../peers/run-server.ts'
import { routerFor } from './router.ts'

await runServer(7013, async ({ host, port, work }) => {
  const server = createServer()
  const wss = new WebSocketServer({ server })
  applyWSSHandler({ wss, router: routerFor(work) })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return { port: (server.address() as AddressInfo).port, stop: async () => process.exit(0) }
})

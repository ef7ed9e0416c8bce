/** tRPC for pages: one router over HTTP, with batches and Server-Sent Events, and over WebSocket. */
import { createServer } from 'node:http'
import { initTRPC } from '@trpc/server'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { WebSocketServer } from 'ws'
import { recordsLater } from '../../peers/work.ts'
import { serve } from '../../suites/serve.ts'
import { blocks, PAGE, VALUES } from '../../suites/web/work.ts'
import { userOf } from '../../suites/work.ts'

const trpc = initTRPC.create()

const router = trpc.router({
  user: trpc.procedure.input(String).query(({ input }) => userOf(input)),
  records: trpc.procedure.subscription(() => recordsLater(VALUES)),
  blocks: trpc.procedure.subscription(() => blocks())
})

export type WebRouter = typeof router

await serve(async ({ host, port }) => {
  const answer = createHTTPHandler({ router, basePath: '/trpc/' })
  const server = createServer((request, response) => {
    if (request.url === '/') response.writeHead(200, PAGE.headers).end(PAGE.body)
    else answer(request, response)
  })
  applyWSSHandler({ wss: new WebSocketServer({ server }), router })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  return port
})

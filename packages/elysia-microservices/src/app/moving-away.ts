/**
 * Moves HTTP clients from a worker that another process replaces. A server that closes a kept-alive connection resets
 * the request that its client sends at that moment, and no client can tell that from a failure. So the worker first
 * answers with `Connection: close` for a while: each client that is busy then connects again, to another worker.
 */
import type { Server } from 'node:http'
import type { AnyElysia } from 'elysia'

/** Milliseconds for clients to move. A connection on which nothing is sent for so long is idle, and is closed. */
const PATIENCE = 1_000

/** Ends what is left of a server after its clients have moved. */
type End = () => Promise<void>

/** On Node: no connection is accepted any more. Resolves when the clients have moved. */
export async function moveAwayOnNode(server: Server): Promise<End> {
  // A server that does not listen has no connections, or closes them already.
  if (!server.listening) return async () => {}
  const { default: net } = await import('node:net')
  server.prependListener('request', (_request, response) => {
    if (!response.headersSent) response.setHeader('connection', 'close')
  })
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  // The method of `node:http` would close connections without a request at once.
  net.Server.prototype.close.call(server)
  await Promise.race([closed, pause()])
  return () => {
    server.closeIdleConnections()
    return closed
  }
}

/** On Bun, which goes on accepting connections until the server stops. Resolves when the clients have moved. */
export async function moveAwayOnBun(app: AnyElysia): Promise<void> {
  const { fetch, server } = app
  if (server === null) return
  const told = async (request: Request): Promise<Response> => {
    // An upgrade has no response.
    const response = (await fetch(request)) as Response | undefined
    return response === undefined ? (response as never) : closing(response)
  }
  // Elysia's own routes would be called without `fetch`.
  server.reload({ routes: app.config.serve?.routes ?? {}, fetch: told } as never)
  await pause()
}

function closing(response: Response): Response {
  try {
    response.headers.set('connection', 'close')
    return response
  } catch {
    // The headers of some responses, such as those of `fetch`, cannot be changed.
    const headers = new Headers(response.headers)
    headers.set('connection', 'close')
    return new Response(response.body, { status: response.status, headers })
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PATIENCE))
}

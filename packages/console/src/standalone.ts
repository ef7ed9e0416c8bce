/** The console without an app of the user's: a server of its own, on a port of this machine alone. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { upgradesOf } from '@elysia-microservices/websocket/kit'
import { Elysia } from 'elysia'
import { type ConsoleOptions, console, SOCKET } from './console.ts'

/** Options of `openConsole()`. */
export interface StandaloneOptions extends Omit<ConsoleOptions, 'path'> {
  /** Where it listens on 127.0.0.1; 0: on any free port. */
  readonly port: number
}

/** A console that is open. */
export interface OpenConsole {
  /** Where the page is. */
  readonly url: string
  /** Closes it, and all pages. */
  close(): Promise<void>
}

const PATH = '/console'

/**
 * Serves the page by itself.
 * @throws {OptionError} an option is invalid
 * @throws {Error} the port is taken: the system's
 */
export async function openConsole({ port, ...options }: StandaloneOptions): Promise<OpenConsole> {
  const app = new Elysia().use(console({ ...options, path: PATH }))
  const server = createServer((request, response) => void answer(app, request, response))
  upgradesOf(server, app, PATH + SOCKET)
  // A server does not count a connection as one of its own any more when it has become a WebSocket.
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}${PATH}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      for (const socket of sockets) socket.destroy()
      await closed
    }
  }
}

async function answer(app: Elysia, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const left = new AbortController()
  response.once('close', () => left.abort())
  try {
    const { status, headers, body } = await app.handle(webRequest(request, left.signal))
    response.writeHead(status, Object.fromEntries(headers))
    if (body === null) response.end()
    else await pipeline(Readable.fromWeb(body as never), response)
  } catch {
    // The browser has left.
    response.destroy()
  }
}

/** A request as Elysia takes it, with the address that it comes from where Elysia's adapter for Node puts it. */
function webRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/', headers, socket } = request
  const isRead = method === 'GET' || method === 'HEAD'
  const path = url === '/' ? PATH : url
  const { href } = new URL(`http://${headers.host ?? 'localhost'}${path.startsWith('/') ? path : '/'}`)
  const made = new Request(href, {
    method,
    headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
    signal,
    ...(!isRead && { body: Readable.toWeb(request) as never, duplex: 'half' as const })
  })
  return Object.defineProperty(made, 'ip', { value: socket.remoteAddress })
}

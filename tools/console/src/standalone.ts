/** The console without a user's app: a separate server, on a port that can be reached only from this machine. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { upgradesOf } from '@elysia-microservices/websocket/kit'
import { Elysia } from 'elysia'
import { type ConsoleOptions, consolePage, SOCKET } from './console.ts'

/** Options of `openConsole()`. */
export interface StandaloneOptions extends Omit<ConsoleOptions, 'path'> {
  /** The port on 127.0.0.1; 0 for any free port. */
  readonly port: number
}

/** A console that is open. */
export interface OpenConsole {
  /** The address of the page. */
  readonly url: string
  /** Closes the console and all its pages. */
  close(): Promise<void>
}

const PATH = '/console'

/**
 * Serves the page on a separate server.
 * @throws {OptionError} an option is invalid
 * @throws {Error} the system's error if the port is taken
 */
export async function openConsole({ port, ...options }: StandaloneOptions): Promise<OpenConsole> {
  const app = new Elysia().use(consolePage({ ...options, path: PATH }))
  const server = createServer((request, response) => void answer(app, request, response))
  upgradesOf(server, app, PATH + SOCKET)
  // The server does not count connections that have become WebSockets, so all sockets are kept here.
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  // A connection that cannot be accepted is the client's loss only.
  server.on('error', () => {})
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
    // The browser has closed the connection.
    response.destroy()
  }
}

/**
 * Converts a request to the form that Elysia takes. The sender's address is where Elysia's adapter for Node puts
 * it.
 */
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

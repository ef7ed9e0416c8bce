/** Servers and clients of a test, over each kind of sockets of this runtime; all are closed after it. */
import type { Socket } from 'node:net'
import { bunSockets } from '../socket/bun.ts'
import { nodeSockets } from '../socket/node.ts'
import type { SocketRuntime } from '../socket/socket.ts'
import { TcpClient } from '../tcp/client.ts'
import type { TcpClientOptions } from '../tcp/options.ts'
import { TcpServer } from '../tcp/server.ts'
import type { TcpServerOptions } from '../tcp/server-options.ts'
import { RecordingLogger, TestDispatcher } from './service.ts'

/** Resolves when a socket is closed, by whatever. */
export function closed(socket: Socket): Promise<void> {
  socket.on('error', () => {})
  socket.resume()
  return new Promise((resolve) => {
    socket.once('close', () => resolve())
  })
}

/** All there are here. */
export const SOCKETS: [string, SocketRuntime][] = [['node:net', nodeSockets]]
if (typeof Bun !== 'undefined') SOCKETS.push(['Bun', bunSockets])

/** Makes both ends. */
export class Ends {
  readonly dispatcher = new TestDispatcher()
  readonly logger = new RecordingLogger()
  readonly #common: { sockets: SocketRuntime; host: string; logger: RecordingLogger }
  readonly #cleanups: (() => Promise<void>)[] = []

  constructor(sockets: SocketRuntime) {
    this.#common = { sockets, host: '127.0.0.1', logger: this.logger }
  }

  /** A server that has started. */
  async server(options: TcpServerOptions): Promise<TcpServer> {
    const server = new TcpServer({ ...this.#common, port: 0, ...options })
    await server.start(this.dispatcher)
    this.#cleanups.push(() => server.stop({ drain: 0 }))
    return server
  }

  /** A client of that port, or of the Unix socket in its options. */
  client(port: number, options: TcpClientOptions): TcpClient {
    const client = new TcpClient({ ...this.#common, port, ...options })
    this.#cleanups.push(() => client.close())
    return client
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.reverse()) await cleanup()
  }
}

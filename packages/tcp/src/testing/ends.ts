/** Servers and clients of a test, over each kind of sockets of this runtime. `close` closes all of them. */
import type { Socket } from 'node:net'
import { RecordingLogger, TestDispatcher } from '@elysia-microservices/rsocket/testing'
import { isInCheck } from '@elysia-microservices/test-support'
import type { Dispatcher, Logger } from '@elysia-microservices/transport/kit'
import { TcpClient } from '../client/client.ts'
import { clientOptions, type TcpClientOptions } from '../options/client-options.ts'
import { serverOptions, type TcpServerOptions } from '../options/server-options.ts'
import type { TestOptions } from '../options/shared-options.ts'
import { TcpServer } from '../server/server.ts'
import { bunSockets } from '../socket/bun.ts'
import { nodeSockets } from '../socket/node.ts'
import type { SocketRuntime } from '../socket/socket.ts'

/** Resolves when a socket is closed, whatever the reason. */
export function closed(socket: Socket): Promise<void> {
  socket.on('error', () => {})
  socket.resume()
  return new Promise((resolve) => {
    socket.once('close', () => resolve())
  })
}

/** All kinds of sockets that this runtime has. */
export const SOCKETS: [string, SocketRuntime][] = [['node:net', nodeSockets]]
if (typeof Bun !== 'undefined') SOCKETS.push(['Bun', bunSockets])

/** Whether a pair is tried: in `npm run check` each protocol over sockets of one kind. */
export const isTried = (sockets: string, protocol: 'nest' | 'rsocket'): boolean =>
  !isInCheck || (sockets === 'Bun') === (protocol === 'rsocket')

/** Options of a test's client in addition to those of `tcp()`. */
export interface ClientParts {
  readonly timeout?: number
  readonly dispatcher?: Dispatcher
}

/** Makes servers and clients of one test. */
export class Ends {
  readonly dispatcher = new TestDispatcher()
  readonly logger = new RecordingLogger()
  readonly #common: { sockets: SocketRuntime; host: string }
  readonly #cleanups: (() => Promise<void>)[] = []

  constructor(sockets: SocketRuntime) {
    this.#common = { sockets, host: '127.0.0.1' }
  }

  /** Makes a server and starts it. */
  async server(options: TcpServerOptions & TestOptions): Promise<TcpServer> {
    const server = newServer({ ...this.#common, port: 0, ...options }, this.logger)
    await server.start(this.dispatcher)
    this.#cleanups.push(() => server.stop({ drain: 0 }))
    return server
  }

  /** Makes a client for the port, or for the Unix socket in its options. */
  client(
    port: number,
    { timeout, dispatcher, ...options }: TcpClientOptions & TestOptions & ClientParts
  ): TcpClient {
    const client = newClient({ ...this.#at(options), port, ...options }, this.logger, { timeout, dispatcher })
    this.#cleanups.push(() => client.close())
    return client
  }

  /** The host belongs to a client without `url` only. */
  #at({ url }: TcpClientOptions): { sockets: SocketRuntime; host?: string } {
    return url === undefined ? this.#common : { sockets: this.#common.sockets }
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.reverse()) await cleanup()
  }
}

/** Makes a server with these options. */
export function newServer(options: TcpServerOptions & TestOptions, logger: Logger): TcpServer {
  return new TcpServer(serverOptions(options), logger)
}

/** Makes a client with these options. */
export function newClient(
  options: TcpClientOptions & TestOptions,
  logger: Logger,
  { timeout, dispatcher }: { readonly [Key in keyof ClientParts]: ClientParts[Key] | undefined } = {}
): TcpClient {
  return new TcpClient(clientOptions(options), {
    logger,
    timeout: timeout ?? 30_000,
    dispatcher
  })
}

/** Clients with pools of connections to servers in memory, which a test names by ports. */
import type { ConnectionEvent } from '@elysia-microservices/transport/kit'
import { newTimer } from '../connection/timer.ts'
import { type ResilienceOptions, resilienceOptions } from '../options/resilience-options.ts'
import { PoolClient } from '../pool/pool-client.ts'
import { type Fate, MemoryServer } from './memory-link.ts'
import { newRsocketClient } from './rsocket-peer.ts'
import { RecordingLogger, TestDispatcher } from './service.ts'
import { Told } from './told.ts'

interface ClientOptions extends Omit<ResilienceOptions, 'url'> {
  readonly url?: ResilienceOptions['url'] | undefined
  readonly timeout?: number
  readonly limits?: { readonly sendBuffer: number }
}

const DEFAULTS = { connections: 1, resolveInterval: 10_000, reconnect: true, retry: false, eject: true }

/** The endpoint at a port. */
export const nameOf = (port: number): string => `127.0.0.1:${port}`

export class PoolScene {
  readonly dispatcher = new TestDispatcher()
  /** The ports of all attempts to connect, in order. */
  readonly attempts: number[] = []
  readonly told = new Told()
  readonly #servers = new Map<number, MemoryServer>()
  readonly #clients: PoolClient[] = []
  #last = 1_000

  /** Adds a server. @returns its port */
  newServer(dispatcher = this.dispatcher): number {
    this.#servers.set(++this.#last, new MemoryServer(dispatcher))
    return this.#last
  }

  /** The server at a port, which is made if it is missing. */
  serverAt(port: number): MemoryServer {
    const server = this.#servers.get(port) ?? new MemoryServer(this.dispatcher)
    this.#servers.set(port, server)
    return server
  }

  /** Says what becomes of the next attempts to connect to ports. */
  fate(fate: Fate, ...ports: number[]): void {
    for (const port of ports) this.serverAt(port).fate = fate
  }

  /** The server loses all its connections. */
  lose(port: number): void {
    this.serverAt(port).lose()
  }

  connectTo(
    ports: readonly number[],
    { timeout = 30_000, limits, ...options }: ClientOptions = {}
  ): PoolClient {
    const client = new PoolClient(
      {
        name: 'tcp',
        resilience: resilienceOptions({ ...DEFAULTS, url: ports.map(nameOf), ...options } as never),
        own: { host: 'localhost', port: 4000 },
        scheme: 'tcp://',
        connectTimeout: 10_000,
        resolver: { lookup: async () => [], srv: async () => [] },
        newLink: ({ host, port }, parts) => {
          this.attempts.push(port)
          return this.serverAt(port).link(parts, `tcp://${host}:${port}`)
        },
        newProtocol: (parts) =>
          newRsocketClient({ ...parts, timeout, newTimer, ...(limits && { maxUnsent: limits.sendBuffer }) })
            .connection
      },
      { logger: new RecordingLogger(), timeout, dispatcher: undefined }
    )
    this.#clients.push(client)
    this.told.by(client)
    return client
  }

  /** A client that is connected to all of the ports. */
  async connectedTo(ports: readonly number[], options?: ClientOptions): Promise<PoolClient> {
    const client = this.connectTo(ports, options)
    await client.connect()
    await this.count(client, 'connected', ports.length * (options?.connections ?? 1))
    return client
  }

  named(type: ConnectionEvent['type'], port?: number): readonly ConnectionEvent[] {
    return this.told.named(type, port === undefined ? undefined : nameOf(port))
  }

  /** Resolves when so many events of a type have been told. */
  count(client: PoolClient, type: ConnectionEvent['type'], count: number): Promise<void> {
    return this.told.until(client, () => this.named(type).length >= count)
  }

  async close(): Promise<void> {
    for (const client of this.#clients) await client.close()
  }
}

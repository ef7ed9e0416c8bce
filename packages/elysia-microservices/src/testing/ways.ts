/** The ways to a service that tests try: both protocols of TCP, and the transport inside the process. */
import { memory, type Transport } from '@elysia-microservices/transport'
import type { ConnectOptions, TcpConnectOptions } from '../client/connect.ts'
import { tcp } from '../tcp.ts'

/** The ways by which tests reach a service. */
export const WAYS = ['rsocket', 'nest', 'memory'] as const

/** A way by which tests reach a service. */
export type Way = (typeof WAYS)[number]

/** The transport of a service, and the options of its clients, which are known once the service listens. */
export interface Ends {
  readonly transport: Transport
  /** @param options options of TCP and of every client; with `memory()` only those of every client are used */
  client(options?: TcpConnectOptions): ConnectOptions
}

/** Makes the transport and the client options of a way. */
export function newWay(way: Way): Ends {
  if (way === 'memory') {
    const transport = memory()
    return {
      transport,
      client: ({ wrap, timeout, onStatus }: TcpConnectOptions = {}) => ({
        transport,
        wrap,
        timeout,
        onStatus
      })
    }
  }
  const transport = tcp({ host: '127.0.0.1', port: 0 })
  return {
    transport,
    client: (options) => ({ host: '127.0.0.1', port: transport.address!.port, protocol: way, ...options })
  }
}

/** The cleanups of a test. The newest one runs first. */
export class Cleanups {
  readonly #all: (() => Promise<unknown>)[] = []

  /** Registers something that is stopped or closed at the end of the test. */
  add<Item extends { stop(): Promise<void> } | { close(): Promise<void> }>(item: Item): Item {
    this.#all.push(() => ('stop' in item ? item.stop() : item.close()))
    return item
  }

  async run(): Promise<void> {
    for (const cleanup of this.#all.splice(0).reverse()) await cleanup()
  }
}

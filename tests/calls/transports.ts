/** Every transport behind the interface of the contract, and functions that interrupt its connections. */
import { DEAF_PORT, Link } from '@elysia-microservices/test-support'
import type { ClientTransport, ServerTransport, Transport } from '@elysia-microservices/transport'
import type { ClientContext, IncomingMessage } from '@elysia-microservices/transport/kit'
import { newClient, webSocketTransport } from '@elysia-microservices/websocket/testing'
import { memory } from 'elysia-microservices'
import { type TcpTransport, tcp } from 'elysia-microservices/tcp'
import type { EngineUnderTest } from '../engines/shared-engines.ts'
import { STAND_INS } from '../engines/stand-ins.ts'
import { listen, newApp } from '../support/http-app.ts'
import { WebSocket } from '../support/web-socket.ts'

/** A transport whose connections can be interrupted. */
export interface Carried {
  /** The transport of a new server. */
  server(): Transport
  /** The transport of a client, once the server has started. */
  client(): Transport
  /** The name of the server in the errors of calls; `undefined`: errors have none. */
  endpoint(): string | undefined
  /** Interrupts the connections over which a message came. @returns resolves when new connections are possible */
  lose(message: IncomingMessage): Promise<void>
  /** Interrupts the connections of all clients. @returns allows connections again */
  cut(server: ServerTransport): Promise<() => Promise<void>>
  close(): Promise<void>
}

/** A transport under test, and its limits. */
export interface TransportUnderTest {
  readonly name: string
  readonly missing?: string | undefined
  /** Whether its protocol can say that a server has refused a request without running it. */
  readonly refuses: boolean
  /** Whether the other side can be told that a caller no longer waits. */
  readonly cancels: boolean
  /** Whether calls need a connection, which can be missing. */
  readonly connects: boolean
  open(): Promise<Carried>
  /** An address at which nobody listens. */
  unreachable(): Promise<{ readonly transport: Transport; readonly endpoint: string | undefined }>
}

const nothing = async () => {}

function overTcp(protocol: 'rsocket' | 'nest'): Omit<TransportUnderTest, 'name' | 'refuses' | 'cancels'> {
  return {
    connects: true,
    async open() {
      let server: TcpTransport
      return {
        server() {
          server = tcp({ host: '127.0.0.1', port: 0 })
          return server
        },
        client: () => tcp({ host: '127.0.0.1', port: server.address!.port, protocol }),
        endpoint: () => `127.0.0.1:${server.address!.port}`,
        lose: async ({ peer }) => peer?.disconnect(),
        async cut(stopped) {
          await stopped.stop({ drain: 0 })
          return nothing
        },
        close: nothing
      }
    },
    async unreachable() {
      const port = DEAF_PORT
      return { transport: tcp({ host: '127.0.0.1', port, protocol }), endpoint: `127.0.0.1:${port}` }
    }
  }
}

function overWebSocket(): Omit<TransportUnderTest, 'name'> {
  const newTransport = () =>
    webSocketTransport(
      async (plugin) => {
        const { url, stop } = await listen(newApp().use(plugin))
        return { url: url.replace('localhost', '127.0.0.1'), stop }
      },
      {},
      // Connections are not resumed in these tests: `packages/websocket` tests resuming.
      { WebSocket, resume: false }
    )
  return {
    refuses: true,
    cancels: true,
    connects: true,
    async open() {
      const transport = newTransport()
      return {
        server: () => transport,
        client: () => transport,
        endpoint: () => new URL(transport.url).host,
        lose: async ({ peer }) => peer?.disconnect(),
        async cut(stopped) {
          await stopped.stop({ drain: 0 })
          return nothing
        },
        close: nothing
      }
    },
    async unreachable() {
      const port = DEAF_PORT
      const client = (context: ClientContext) =>
        newClient({ url: `ws://127.0.0.1:${port}/rsocket`, WebSocket }, context)
      return { transport: { ...newTransport(), client }, endpoint: `127.0.0.1:${port}` }
    }
  }
}

function overEngine(engine: EngineUnderTest): TransportUnderTest {
  return {
    name: engine.title,
    missing: engine.missing,
    refuses: true,
    cancels: true,
    connects: true,
    async open() {
      const running = await engine.start()
      // Only the connection is interrupted here, and the server goes on: `engines/engine-tests` tests a server that is killed.
      let link = await Link.start(running.port)
      const { port } = link
      return {
        server: () => running.transport({ port }),
        client: () => running.transport({ port }),
        endpoint: () => `127.0.0.1:${port}`,
        lose: async () => link.cutAll(),
        async cut() {
          await link.stop()
          return async () => {
            link = await Link.start(running.port, port)
          }
        },
        async close() {
          await link.stop()
          await running.close()
        }
      }
    },
    async unreachable() {
      const port = DEAF_PORT
      const running = await engine.start()
      const transport = running.transport({ port })
      await running.close()
      return { transport, endpoint: `127.0.0.1:${port}` }
    }
  }
}

export const TRANSPORTS: readonly TransportUnderTest[] = [
  {
    name: 'memory()',
    refuses: true,
    cancels: true,
    connects: false,
    async open() {
      const both = memory()
      return {
        server: () => both,
        client: () => both,
        endpoint: () => undefined,
        lose: nothing,
        cut: async () => nothing,
        close: nothing
      }
    },
    unreachable: async () => ({ transport: memory(), endpoint: undefined })
  },
  { name: 'RSocket', refuses: true, cancels: true, ...overTcp('rsocket') },
  { name: "Nest's wire", refuses: false, cancels: false, ...overTcp('nest') },
  { name: 'WebSocket', ...overWebSocket() },
  ...STAND_INS.filter(({ hasServer }) => hasServer).map(overEngine)
]

/** The patterns of a service that handles every pattern; these ones, if the transport has no wildcards. */
export function everyPattern(
  { traits }: Transport,
  names: readonly string[]
): readonly { readonly kind: 'message'; readonly route: string }[] {
  const routes = traits.names ? names : [traits.levels ? '#' : '>']
  return routes.map((route) => ({ kind: 'message', route }))
}

/** A client of a transport. */
export function clientOf(transport: Transport, context: Partial<ClientContext> = {}): ClientTransport {
  const logger = { error() {}, warn() {} }
  return transport.client({ logger, timeout: 0, dispatcher: undefined, ...context })
}

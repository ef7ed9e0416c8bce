/** An engine, and what its suite must know of it. */
import { Link } from '@elysia-microservices/test-support'
import type { AnyStore, Transport } from '@elysia-microservices/transport'

/** Options of an engine's transport in tests. */
export interface EngineOptions {
  /**
   * The port of the server, if it differs: nothing listens on this port, or a link that records or interrupts
   * connections.
   */
  readonly port?: number
  /** Milliseconds without a sign of life after which a durable event is delivered again. Default: 1,000. */
  readonly ackWait?: number
  /** The queue that NestJS clients and services use, if the engine's messages need one. Default: none. */
  readonly queue?: string | undefined
}

/** An engine. */
export interface EngineUnderTest {
  /** The name of the transport. */
  readonly name: string
  /** The name in documentation and logs. */
  readonly title: string
  readonly traits: Transport['traits']
  /** The form in which data travels: encoded by our codecs, or as Nest's JSON packets, as over this library's engines. */
  readonly carriage: 'codecs' | 'packets'
  /** The programs that this machine lacks to run the engine; `undefined`: none. */
  readonly missing?: string | undefined
  /** Whether the engine has a server that can be stopped, suspended and started again. */
  readonly hasServer: boolean
  /** Whether the server keeps a queue for each handler, so that a request may overtake an event of another pattern. */
  readonly hasQueuePerHandler?: true
  /**
   * Whether processes of a group share durable events by partition: a partition moves to another process when its
   * running handlers have ended.
   */
  readonly sharesByPartition?: true
  /** Whether events that wait for their time are apart from others: only among them, an id is unique while one waits. */
  readonly waitsApart?: true
  /** Whether a message that is not JSON is the data of an event, as for NestJS services: devices send plain text. */
  readonly takesText?: true
  /** The step that needs so much of a processor that it is only done at night: a server starts, or starts again. */
  readonly slow?: 'start' | 'restart'
  /** The author's own description of NestJS's transport for the engine; `undefined`: NestJS has none. */
  readonly nest?: object
  /** Programs of others that publish on the engine; `undefined`: all messages stay inside the process. */
  readonly strangers?: object
  /** Why the engine has no address for a pattern; `undefined`: it has one. Default: it has one for every pattern. */
  refuses?(pattern: string): string | undefined
  /** Starts the engine, empty. */
  start(): Promise<RunningEngine>
}

/** Another way to the server: connections over it are lost when it is stopped. */
export interface Detour {
  readonly port: number
  /** Closes this way, with all connections over it. */
  stop(): Promise<void>
}

/**
 * Opens another way to a server of this machine, which passes on all bytes.
 * @param server the port of the server
 * @param port the port to open. Default: any free one
 */
export function detourTo(server: number, port?: number): Promise<Detour> {
  return Link.start(server, port)
}

/** A running engine, until `close` is called. */
export interface RunningEngine {
  /** The port of the server; 0: there is no server. */
  readonly port: number
  /** The transport, for a service or for clients. */
  transport(options?: EngineOptions): Transport
  /** The store, if the cases are those of a store beside a transport. Default: the transport is the store. */
  store?(options?: EngineOptions): AnyStore
  /** Stops the server at once, with all connections; what it has stored stays. */
  stop(): Promise<void>
  /** Starts the server again. */
  start(): Promise<void>
  /** Suspends the server: connections stay, but no message moves. */
  suspend(): void
  /** Ends `suspend`: messages move again. */
  resume(): void
  /** Opens another way to the server, until it is stopped. @param port its port. Default: any free one */
  detour(port?: number): Promise<Detour>
  /** Ends the engine, and deletes all that it has stored. */
  close(): Promise<void>
}

function noServer(): never {
  throw new Error('`hasServer` is false: there is no server to stop, to suspend or to reach in another way')
}

/** The server of a running engine that has none, or none that tests may stop: `hasServer` is false. */
export const NO_SERVER: Omit<RunningEngine, 'transport' | 'store'> = {
  port: 0,
  stop: noServer,
  start: noServer,
  suspend: noServer,
  resume: noServer,
  detour: noServer,
  close: async () => {}
}

/** A server inside the process: a fake of a driver. */
export interface FakeServer {
  readonly port: number
  /** Cuts all connections, and refuses new ones; what is stored stays. */
  stop(): void
  /** Accepts connections again. */
  start(): void
  /** Lets no message move; connections stay. */
  suspend(): void
  /** Ends `suspend`. */
  resume(): void
  /** Opens another way to the server, on this port. */
  detour(port: number): { readonly port: number; stop(): void }
}

/** A fake as a running engine. @param transport makes the transport over the fake */
export function overFake(server: FakeServer, transport: RunningEngine['transport']): RunningEngine {
  return {
    port: server.port,
    transport,
    stop: async () => server.stop(),
    start: async () => server.start(),
    suspend: () => server.suspend(),
    resume: () => server.resume(),
    // The next ports may be those of further brokers.
    async detour(port = server.port + 100) {
      const detour = server.detour(port)
      return { port, stop: async () => detour.stop() }
    },
    close: async () => server.stop()
  }
}

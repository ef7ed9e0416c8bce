/** The service under torture for its scenarios: its processes, its clients, and the record of its runs. */
import { grpc } from '@elysia-microservices/grpc'
import { type TcpClientOptions, tcp } from '@elysia-microservices/tcp'
import { within } from '@elysia-microservices/test-support'
import type { ClientTransport, Logger } from '@elysia-microservices/transport'
import { type Ended, ServerProcess, type ServerProgram } from '../../support/server-process.ts'
import { highest, peakMb } from './memory.ts'
import { METHODS } from './methods.ts'
import { RunRecord } from './record.ts'
import type { ServiceSetup } from './service.ts'

/** A logger without output, because faults are expected. */
const SILENT: Logger = { error() {}, warn() {} }

/** The options of a client. */
export interface CallerOptions extends TcpClientOptions {
  /** The default timeout of calls, in milliseconds. */
  readonly timeout?: number
}

const TIMEOUT = 30_000

/** The servers of one scenario, and their clients. */
export class TortureService {
  readonly record = new RunRecord()
  readonly servers: readonly ServerProcess[]
  readonly #clients: ClientTransport[] = []
  readonly #isGrpc: boolean
  #peakMb: number | undefined

  constructor(
    count: number,
    setup: Omit<ServiceSetup, 'port' | 'record'> = {},
    machine: Pick<ServerProgram, 'cpu' | 'memoryMb'> = {}
  ) {
    this.#isGrpc = setup.isGrpc === true
    const program = {
      program: 'torture/support/service',
      arguments: (port: number) => [JSON.stringify({ ...setup, port, record: this.record.path })],
      ...machine
    }
    this.servers = Array.from({ length: count }, () => new ServerProcess(program))
  }

  /** The peak memory of any of its processes, in megabytes. */
  get peakMb(): number | undefined {
    return highest(this.#peakMb, ...this.servers.map(({ pid }) => peakMb(pid)))
  }

  async start(server?: ServerProcess): Promise<void> {
    const started = server === undefined ? this.servers : [server]
    await within(Promise.all(started.map((one) => one.start())), 'The server starts')
  }

  async stop(server: ServerProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<Ended | undefined> {
    // Read while the process still runs.
    this.#peakMb = this.peakMb
    return within(server.stop(signal), `The server ends after ${signal}`)
  }

  /** A client of all servers, which is closed at the end of the scenario. */
  client(options: CallerOptions = {}): ClientTransport {
    const client = this.visitor(options)
    this.#clients.push(client)
    return client
  }

  /** A client of all servers, which the scenario closes itself. */
  visitor({ timeout, ...options }: CallerOptions = {}): ClientTransport {
    const [first] = this.servers
    const where =
      this.servers.length === 1
        ? { host: '127.0.0.1', port: first?.port }
        : { url: this.servers.map(({ port }) => `127.0.0.1:${port}`) }
    const transport = this.#isGrpc
      ? grpc({ ...where, ...(options as object), proto: METHODS })
      : tcp({ ...where, ...options })
    return transport.client({ logger: SILENT, timeout: timeout ?? TIMEOUT, dispatcher: undefined })
  }

  async closeClients(): Promise<void> {
    await within(Promise.all(this.#clients.splice(0).map((client) => client.close())), 'The clients close')
  }

  /** Ends all servers and clients, however the scenario ended. */
  async end(): Promise<void> {
    await Promise.allSettled([this.closeClients(), ...this.servers.map((server) => server.stop('SIGKILL'))])
    this.record.remove()
  }
}

/** The service under torture as its scenarios see it: processes, clients, and the record of what ran. */
import { type TcpClientOptions, tcp } from '@elysia-microservices/tcp'
import type { ClientTransport, Logger } from '@elysia-microservices/transport'
import { type Ended, ServerProcess, type ServerProgram } from '../../support/server-process.ts'
import { within } from '../../support/within.ts'
import { highest, peakMb } from './memory.ts'
import { RunRecord } from './record.ts'
import type { ServiceSetup } from './service.ts'

/** Says nothing: faults are what the scenario is for. */
const SILENT: Logger = { error() {}, warn() {} }

/** How a client calls. */
export interface CallerOptions extends TcpClientOptions {
  /** Milliseconds for a call that says nothing else. */
  readonly timeout?: number
}

const TIMEOUT = 30_000

/** Servers of one scenario, and their clients. */
export class TortureService {
  readonly record = new RunRecord()
  readonly servers: readonly ServerProcess[]
  readonly #clients: ClientTransport[] = []
  #peakMb: number | undefined

  constructor(
    count: number,
    setup: Omit<ServiceSetup, 'port' | 'record'> = {},
    machine: Pick<ServerProgram, 'cpu' | 'memoryMb'> = {}
  ) {
    const program = {
      program: 'torture/support/service',
      arguments: (port: number) => [JSON.stringify({ ...setup, port, record: this.record.path })],
      ...machine
    }
    this.servers = Array.from({ length: count }, () => new ServerProcess(program))
  }

  /** The most memory that any of its processes has had, in megabytes. */
  get peakMb(): number | undefined {
    return highest(this.#peakMb, ...this.servers.map(({ pid }) => peakMb(pid)))
  }

  async start(server?: ServerProcess): Promise<void> {
    const started = server === undefined ? this.servers : [server]
    await within(Promise.all(started.map((one) => one.start())), 'The server starts')
  }

  async stop(server: ServerProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<Ended | undefined> {
    // Read while the process is there.
    this.#peakMb = this.peakMb
    return within(server.stop(signal), `The server ends after ${signal}`)
  }

  /** A client of all servers, which is closed with the rest. */
  client(options: CallerOptions = {}): ClientTransport {
    const client = this.visitor(options)
    this.#clients.push(client)
    return client
  }

  /** A client of all servers, to be closed by its caller. */
  visitor({ timeout, ...options }: CallerOptions = {}): ClientTransport {
    const [first] = this.servers
    const where =
      this.servers.length === 1
        ? { host: '127.0.0.1', port: first?.port }
        : { endpoints: this.servers.map(({ port }) => `127.0.0.1:${port}`) }
    return tcp({ ...where, ...options }).client({
      logger: SILENT,
      timeout: timeout ?? TIMEOUT,
      tellTimeout: timeout !== undefined,
      dispatcher: undefined
    })
  }

  async closeClients(): Promise<void> {
    await within(Promise.all(this.#clients.splice(0).map((client) => client.close())), 'The clients close')
  }

  /** Ends everything, however the scenario went. */
  async end(): Promise<void> {
    await Promise.allSettled([this.closeClients(), ...this.servers.map((server) => server.stop('SIGKILL'))])
    this.record.remove()
  }
}

/** The workers of a service, from the supervisor's side: their port, their processes, signals, certificates. */
import {
  NO_HANDLER,
  type SocketAddress,
  type Source,
  TcpServer,
  type TcpServerOptions,
  type TlsServerOptions
} from '@elysia-microservices/transport'
import { countOf, type Workers } from './option.ts'
import { stopOnSignals } from './signals.ts'
import { Supervisor, type SupervisorOptions, type WorkerFigures } from './supervisor.ts'
import { secondService } from './worker.ts'

/** What a group is started with. */
export interface WorkerGroupOptions extends Pick<SupervisorOptions, 'drain' | 'logger'> {
  readonly workers: Workers
  readonly server: TcpServerOptions
  /** What `reloadTls` was given before; `undefined` for the program's own. */
  readonly tls: Source<TlsServerOptions> | undefined
  /** Stops the service: by a signal, or because no worker can be kept. */
  stop(): Promise<void>
}

let isTaken = false

/** Processes that run this program and answer on one port. */
export class WorkerGroup {
  /** Where all of them listen. */
  readonly address: SocketAddress
  readonly #supervisor: Supervisor
  readonly #forgetSignals: () => void
  readonly #certificate: { tls: TlsServerOptions | undefined }

  private constructor(
    address: SocketAddress,
    supervisor: Supervisor,
    forgetSignals: () => void,
    certificate: { tls: TlsServerOptions | undefined }
  ) {
    this.address = address
    this.#supervisor = supervisor
    this.#forgetSignals = forgetSignals
    this.#certificate = certificate
  }

  /**
   * Starts the workers; resolves when all of them listen.
   * @throws {ListenError} the port is taken or not allowed
   * @throws {WorkerError} a worker cannot start; none is left then
   * @throws {ValidationError} this process has workers already, or is one of `node:cluster`
   */
  static async start(options: WorkerGroupOptions): Promise<WorkerGroup> {
    if (isTaken) throw secondService()
    isTaken = true
    // From the first worker on: a signal during the start must leave no process behind.
    let forgetSignals = () => {}
    try {
      const { drain, logger, stop } = options
      const address = await freeAddress(options.server)
      const certificate = { tls: await portable(options.tls) }
      forgetSignals = stopOnSignals(stop)
      const supervisor = await Supervisor.start({
        ...address,
        count: await countOf(options.workers),
        drain,
        logger,
        async prepare(process) {
          const { tls } = certificate
          if (tls !== undefined) await process.ask({ about: 'reload-tls', tls })
        },
        gaveUp: () => void stop().then(() => process.exit(1))
      })
      return new WorkerGroup(address, supervisor, forgetSignals, certificate)
    } catch (error) {
      forgetSignals()
      isTaken = false
      throw error
    }
  }

  /** See `service.workers()`. */
  figures(): Promise<readonly WorkerFigures[]> {
    return this.#supervisor.figures()
  }

  /** See `service.reload()`. */
  reload(): Promise<void> {
    return this.#supervisor.reload()
  }

  /** Gives all workers another certificate, those to come too; `undefined`: what the program's function gives. */
  async reloadTls(source: Source<TlsServerOptions> | undefined): Promise<void> {
    const tls = await portable(source)
    if (tls !== undefined) this.#certificate.tls = tls
    await this.#supervisor.ask({ about: 'reload-tls', tls })
  }

  async stop(): Promise<void> {
    await this.#supervisor.stop()
    this.#forgetSignals()
    isTaken = false
  }
}

/**
 * Listens for a moment, as the only one: another program's port is noticed before there is any process, which
 * `SO_REUSEPORT` would let us share, and port 0 becomes one that all workers can be told.
 */
async function freeAddress(options: TcpServerOptions): Promise<SocketAddress> {
  const server = new TcpServer({ ...options, tls: undefined, reusePort: false })
  await server.start({ request: () => NO_HANDLER, event() {} })
  const address = server.address as SocketAddress
  await server.stop({ drain: 0 })
  return address
}

/** A certificate in a form that can be sent to another process: PEM is text. */
async function portable(source: Source<TlsServerOptions> | undefined): Promise<TlsServerOptions | undefined> {
  const tls = typeof source === 'function' ? await source() : source
  if (tls === undefined) return undefined
  const texts = Object.entries(tls).map(([key, value]) => [key, textOf(value)])
  return Object.fromEntries(texts) as TlsServerOptions
}

function textOf(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  return Array.isArray(value) ? value.map(textOf) : value
}

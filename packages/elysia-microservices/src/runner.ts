/** A service at run time, by its role: it listens itself, listens as a worker, or lets workers listen. */
import {
  type Logger,
  type ServerStats,
  type SocketAddress,
  type Source,
  TcpServer,
  type TcpServerOptions,
  type TlsServerOptions,
  ValidationError
} from '@elysia-microservices/transport'
import type { Chaos } from './chaos/chaos.ts'
import type { ListenOptions } from './options.ts'
import { schemasCompiled } from './schema/typebox.ts'
import type { ServiceCore } from './service-core.ts'
import { checkWorkers, type Workers } from './workers/option.ts'
import { placeOfWorker, type Role, UNDER_BUN } from './workers/role.ts'
import type { WorkerFigures } from './workers/supervisor.ts'
import type { WorkerGroup } from './workers/worker-group.ts'

/** What a service runs with. */
export interface RunnerSettings {
  readonly server: TcpServerOptions
  /** Milliseconds that work in flight may take when it stops. */
  readonly drain: number
  readonly logger: Logger
  readonly workers: Workers | undefined
  readonly chaos: Chaos | undefined
}

/** Starts and stops a service, and says how it is. */
export class ServiceRunner {
  readonly role: Role
  readonly #core: ServiceCore
  readonly #settings: RunnerSettings
  #server: TcpServer
  /** As reloaded: a service that is started again has the certificate it was given last. */
  #tls: Source<TlsServerOptions> | undefined
  #group: WorkerGroup | undefined
  #listening: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #stopApp: (() => Promise<unknown>) | undefined

  constructor(core: ServiceCore, settings: RunnerSettings) {
    this.#core = core
    this.#settings = settings
    this.#server = new TcpServer(settings.server)
    this.#tls = settings.server.tls
    this.role = roleOf(settings.workers)
  }

  get address(): SocketAddress | undefined {
    return this.#group?.address ?? this.#server.address
  }

  stats(): ServerStats {
    return this.#server.stats()
  }

  async listen(where: ListenOptions): Promise<void> {
    this.#listening ??= this.#start(where)
    try {
      await this.#listening
    } catch (error) {
      this.#listening = undefined
      throw error
    }
  }

  /** An app has started the service, and this is how the app is stopped, HTTP and all. */
  follows(stopApp: () => Promise<unknown>): void {
    this.#stopApp = stopApp
  }

  async reloadTls(source: Source<TlsServerOptions> | undefined): Promise<void> {
    // In a supervisor, whose server does not listen, this checks it.
    await this.#server.reloadTls(source)
    if (source !== undefined) this.#tls = source
    await this.#group?.reloadTls(source)
  }

  async reload(): Promise<void> {
    if (this.role === 'alone')
      throw new ValidationError('options.workers', 'given, to replace them', this.#settings.workers)
    await this.#group?.reload()
  }

  async workers(): Promise<readonly WorkerFigures[]> {
    return (await this.#group?.figures()) ?? []
  }

  stop(): Promise<void> {
    const started = this.#listening
    this.#listening = undefined
    // A start that failed has told its caller; there is nothing to stop then.
    if (started !== undefined)
      this.#stopping = started.then(
        () => this.#stop(),
        () => {}
      )
    return this.#stopping ?? Promise.resolve()
  }

  async #start(where: ListenOptions): Promise<void> {
    const place = placeOfWorker()
    if (this.role === 'supervisor') await this.#startWorkers(where)
    else if (this.role === 'alone' || place === undefined) await this.#startServer(where)
    else {
      const { host, port } = place
      const { followSupervisor } = await import('./workers/worker.ts')
      await followSupervisor({
        start: () => this.#startServer({ host, port, path: undefined, reusePort: UNDER_BUN }),
        stats: () => this.stats(),
        reloadTls: (tls) => this.reloadTls(tls),
        stop: () => this.#stopApp?.() ?? this.stop()
      })
    }
  }

  async #startServer(where: Partial<TcpServerOptions>): Promise<void> {
    const { server, chaos } = this.#settings
    const core = this.#core
    this.#server = new TcpServer({ ...server, tls: this.#tls, ...where })
    await schemasCompiled()
    await core.startControllers()
    try {
      // Whatever the chain added after a handler is there for it as well.
      core.compileAll()
      await this.#server.start(chaos?.around(core.registry) ?? core.registry)
    } catch (error) {
      await core.stopControllers()
      throw error
    }
  }

  async #startWorkers(where: ListenOptions): Promise<void> {
    const { server, drain, logger, workers } = this.#settings
    const options = { ...server, ...where }
    checkWorkers(workers, options.path)
    await this.#stopping
    const { WorkerGroup } = await import('./workers/worker-group.ts')
    this.#group = await WorkerGroup.start({
      server: options,
      // What the program says itself, each worker knows.
      tls: this.#tls === server.tls ? undefined : this.#tls,
      workers: workers as Workers,
      drain,
      logger,
      stop: () => this.stop()
    })
  }

  async #stop(): Promise<void> {
    if (this.#group !== undefined) {
      await this.#group.stop()
      this.#group = undefined
      return
    }
    await this.#server.stop({ drain: this.#settings.drain }).finally(() => this.#core.stopControllers())
  }
}

function roleOf(workers: Workers | undefined): Role {
  if (workers === undefined) return 'alone'
  return placeOfWorker() === undefined ? 'supervisor' : 'worker'
}

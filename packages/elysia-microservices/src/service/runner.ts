/** A service at run time, by its role: it listens itself, listens as a worker, or lets workers listen. */
import {
  type Address,
  checkDurable,
  type Logger,
  OptionError,
  type ServerTransport,
  type ServiceStatus,
  type TransportStats
} from '@elysia-microservices/transport/kit'
import { schemasCompiled } from '../schema/typebox.ts'
import { checkWorkers, type Workers } from '../workers/option.ts'
import { placeOfWorker, type Role } from '../workers/role.ts'
import { type ShutdownSignal, stopOnSignals } from '../workers/signals.ts'
import type { WorkerFigures } from '../workers/supervisor.ts'
import type { WorkerGroup } from '../workers/worker-group.ts'
import { clearEarlier, remember } from './hot.ts'
import type { ServiceCore } from './service-core.ts'
import { StopLines } from './stop-lines.ts'

/** What a service runs with. */
export interface RunnerSettings {
  readonly name?: string | undefined
  /** What carries its messages. */
  readonly servers: readonly ServerTransport[]
  /** Milliseconds that work in flight may take when it stops. */
  readonly drain: number
  readonly logger: Logger
  readonly workers: Workers | undefined
  readonly shutdownOn: readonly ShutdownSignal[] | undefined
}

/** Starts and stops a service, and gives its figures. */
export class ServiceRunner {
  readonly role: Role
  /** The apps that have started the service and not stopped. */
  readonly hosts = new Set<object>()
  readonly #core: ServiceCore
  readonly #settings: RunnerSettings
  #group: WorkerGroup | undefined
  #listening: Promise<void> | undefined
  #status: ServiceStatus = 'stopped'
  #stopping: Promise<void> | undefined
  #stopApp: (() => Promise<unknown>) | undefined
  /** What the log was told of the stop that has begun. */
  #lines: StopLines | undefined
  #forget = () => {}
  #forgetSignals = () => {}

  constructor(core: ServiceCore, settings: RunnerSettings) {
    this.#core = core
    this.#settings = settings
    this.role = roleOf(settings.workers)
  }

  /** The address of the first transport that has one. */
  get address(): Address | undefined {
    return this.#settings.servers.find(({ address }) => address !== undefined)?.address
  }

  get status(): ServiceStatus {
    return this.#status
  }

  stats(): readonly TransportStats[] {
    return this.#settings.servers.map((server) => server.stats())
  }

  /** The service in words, for logs and errors. */
  get title(): string {
    const { name } = this.#settings
    return name === undefined ? 'A service' : `The service '${name}'`
  }

  /** Whether it listens, or tries to. */
  get isStarted(): boolean {
    return this.#listening !== undefined
  }

  async listen(): Promise<void> {
    const listening = this.#listening ?? this.#begin()
    try {
      await listening
    } catch (error) {
      if (this.#listening === listening) {
        this.#listening = undefined
        this.#forget()
      }
      throw error
    }
  }

  /** Takes the function that stops the app which has started the service, with its HTTP. */
  follows(stopApp: () => Promise<unknown>): void {
    this.#stopApp = stopApp
  }

  async restartWorkers(): Promise<void> {
    if (this.role === 'alone')
      throw new OptionError(
        'options.workers',
        'restartWorkers() needs options.workers: this service has none'
      )
    await this.#group?.restart()
  }

  async workers(): Promise<readonly WorkerFigures[]> {
    return (await this.#group?.figures()) ?? []
  }

  stop(): Promise<void> {
    this.hosts.clear()
    const started = this.#listening
    this.#listening = undefined
    this.#forget()
    // A start that failed has told its caller; there is nothing to stop then.
    if (started !== undefined) {
      this.#status = 'draining'
      this.#stopping = started
        .then(
          () => this.#stop(),
          () => {}
        )
        .finally(() => this.#ended('draining'))
    }
    return this.#stopping ?? Promise.resolve()
  }

  /** Stops; resolves when its ports are free, or all workers have ended. */
  async #giveWay(): Promise<void> {
    const started = this.#listening
    const stopped = this.stop().catch((error: unknown) =>
      this.#settings.logger.error(`${this.title} could not stop`, error)
    )
    await started?.catch(() => {})
    if (this.#group !== undefined) await stopped
  }

  #begin(): Promise<void> {
    this.#status = 'starting'
    this.#forget = remember(() => this.#giveWay())
    this.#listening = this.#start().then(
      () => {
        if (this.#status === 'starting') this.#status = 'listening'
      },
      (error) => {
        this.#ended('starting')
        throw error
      }
    )
    return this.#listening
  }

  /** It does not run any more, unless something else has begun meanwhile. */
  #ended(what: ServiceStatus): void {
    if (this.#status === what) this.#status = 'stopped'
  }

  async #start(): Promise<void> {
    await clearEarlier()
    const place = placeOfWorker()
    if (this.role === 'supervisor') await this.#startWorkers()
    else if (this.role === 'alone' || place === undefined) {
      await this.#startServers()
      const { shutdownOn = [] } = this.#settings
      this.#forgetSignals = stopOnSignals((signal) => this.#shutDown(signal), shutdownOn)
    } else {
      const { servers } = this.#settings
      for (const [index, { sharing }] of servers.entries()) sharing?.join(place.shared[index])
      const { followSupervisor } = await import('../workers/worker.ts')
      await followSupervisor({
        start: () => this.#startServers(),
        stats: () => this.stats(),
        answer: async (index, question) => servers[index]?.sharing?.answer(question),
        stop: () => this.#stopApp?.() ?? this.stop()
      })
    }
  }

  /** Starts all servers or none. */
  async #startServers(): Promise<void> {
    const { servers } = this.#settings
    const core = this.#core
    core.endDrain()
    await schemasCompiled()
    await core.startControllers()
    const started: ServerTransport[] = []
    try {
      // A handler also gets what the chain has added after it.
      core.compileAll()
      const dispatcher = core.dispatcher(this.#settings.logger)
      checkDurable(dispatcher, servers)
      for (const server of servers) {
        await server.start(dispatcher)
        started.push(server)
      }
    } catch (error) {
      await Promise.all(started.map((server) => server.stop({ drain: 0 })))
      await core.stopControllers()
      throw error
    }
  }

  async #startWorkers(): Promise<void> {
    const { servers, drain, logger, workers } = this.#settings
    checkWorkers(workers)
    await this.#stopping
    const { WorkerGroup } = await import('../workers/worker-group.ts')
    this.#group = await WorkerGroup.start({
      servers,
      workers: workers as Workers,
      drain,
      logger,
      title: this.title,
      stop: () => this.stop()
    })
  }

  /** Stops at a signal, with the app where there is one. */
  async #shutDown(signal: string): Promise<void> {
    this.#lines ??= this.#stopLines(signal)
    await (this.#stopApp?.() ?? this.stop())
  }

  #stopLines(signal?: string): StopLines {
    const { logger, drain } = this.#settings
    const place = placeOfWorker()
    const title = place === undefined ? this.title : `${this.title} in worker ${place.worker}`
    return new StopLines({ title, drain, logger, stats: () => this.stats() }, signal)
  }

  async #stop(): Promise<void> {
    this.#core.beginDrain()
    if (this.#group !== undefined) {
      await this.#group.stop()
      this.#group = undefined
      return
    }
    const { servers, drain } = this.#settings
    const forgetSignals = this.#forgetSignals
    const lines = this.#lines ?? this.#stopLines()
    this.#lines = undefined
    try {
      await lines.until(() => Promise.all(servers.map((server) => server.stop({ drain }))))
    } finally {
      await this.#core.stopControllers()
      // Not before: a signal that something else has stopped the service at is waited with until here.
      forgetSignals()
    }
  }
}

function roleOf(workers: Workers | undefined): Role {
  if (workers === undefined) return 'alone'
  return placeOfWorker() === undefined ? 'supervisor' : 'worker'
}

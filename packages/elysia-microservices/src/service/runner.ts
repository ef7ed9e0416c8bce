/** Runs a service in one of three roles: it listens itself, listens as a worker, or supervises workers. */
import {
  type Address,
  announce,
  Dispatchers,
  type DispatchSettings,
  OptionError,
  type ServerTransport,
  type ServiceStatus,
  statsOf,
  type TransportStats
} from '@elysia-microservices/transport/kit'
import {
  checkWorkers,
  placeOfWorker,
  type Role,
  type ShutdownSignal,
  stopOnSignals,
  type WorkerFigures,
  type Workers
} from '@elysia-microservices/workers'
import type { WorkerGroup } from '@elysia-microservices/workers/supervisor'
import type { Door } from '../app/doors.ts'
import { schemasCompiled } from '../schema/typebox.ts'
import { followedFrom } from './handled-message.ts'
import { clearEarlier, remember } from './hot.ts'
import type { LifeEnd } from './life.ts'
import type { OwnTransports, ServiceCore } from './service-core.ts'
import { startWhenReachable } from './start-when-reachable.ts'
import { StopLines } from './stop-lines.ts'

/** The settings that a service runs with. */
export interface RunnerSettings extends DispatchSettings {
  /** The servers of the transports, which carry the service's messages. */
  readonly servers: readonly ServerTransport[]
  /** Milliseconds that work in flight may take when the service stops. */
  readonly drain: number
  readonly workers: Workers | undefined
  /** Milliseconds for which the start waits for what cannot be reached. */
  readonly waitForConnection: number
  readonly shutdownOn: readonly ShutdownSignal[] | undefined
}

/**
 * The apps that have started a service and have not stopped yet, each with the function that stops it, including its
 * HTTP server; `undefined`: the app cannot be stopped.
 */
export type Hosts = Map<object, ((cut?: boolean) => Promise<unknown>) | undefined>

/** Milliseconds that stop hooks always get, even if the messages have used up `drain`. */
const HOOKS_AT_LEAST = 1_000
/**
 * Milliseconds after `drain` after which HTTP connections are cut. By then HTTP requests have the answers of the
 * service that they wait for.
 */
const HTTP_LATER = 250

/** The used services whose own transport the log has told of. */
const unopened = new WeakSet<OwnTransports>()

/** Starts and stops a service, and reads its figures. */
export class ServiceRunner {
  readonly role: Role
  readonly hosts: Hosts = new Map()
  /**
   * The service that this runner runs. The reference keeps a listening service from being garbage-collected: the figures
   * of a process refer to its services only weakly.
   */
  service: object | undefined
  readonly #core: ServiceCore
  readonly #settings: RunnerSettings
  /** The servers of the settings, the store's as the last one. */
  readonly #own: readonly ServerTransport[]
  /** The servers of the settings, followed by those of doors. */
  readonly #servers: ServerTransport[]
  readonly #doors = new Set<Door>()
  readonly #started = new Set<ServerTransport>()
  /** The dispatchers of this run. */
  #dispatchers: Dispatchers | undefined
  #group: WorkerGroup | undefined
  #listening: Promise<void> | undefined
  #status: ServiceStatus = 'stopped'
  #stopping: Promise<void> | undefined
  /** Aborts when the service stops. */
  #leaving = new AbortController()
  /** Aborts when a start that waits is not wanted any more. */
  #givingUp = new AbortController()
  /** Writes the log lines about the stop that has begun. */
  #lines: StopLines | undefined
  #forget = () => {}
  #forgetSignals = () => {}
  /** See `followedFrom`. */
  #unfollow = () => {}
  /** See `listen`. */
  #others = () => Promise.resolve<unknown>(undefined)

  constructor(core: ServiceCore, settings: RunnerSettings) {
    this.#core = core
    this.#settings = settings
    const { servers, storing } = settings
    this.#own = storing === undefined ? servers : [...servers, storing.server]
    this.#servers = [...this.#own]
    this.role = roleOf(settings.workers)
  }

  /** The address of the first transport that has one. */
  get address(): Address | undefined {
    return this.#servers.find(({ address }) => address !== undefined)?.address
  }

  get isLeft(): boolean {
    return this.#leaving.signal.aborted
  }

  get status(): ServiceStatus {
    return this.#status
  }

  stats(): readonly TransportStats[] {
    return this.#servers.flatMap(statsOf)
  }

  /** Makes the service answer at a door of its app, too: from its next start on, or at once if it listens already. */
  answerAt(door: Door): void {
    if (this.#doors.has(door)) return
    this.#doors.add(door)
    const { name, logger } = this.#settings
    this.#servers.push(door.newServer({ name, version: undefined, logger }))
    // If the service is starting, it may not have started its servers yet. So this waits until the start is
    // complete.
    void this.#listening?.then(
      () => this.#startLate(),
      () => {}
    )
  }

  async #startLate(): Promise<void> {
    try {
      if (this.#status !== 'listening') return
      await this.#startAll()
      this.#beginAll()
    } catch (error) {
      this.#settings.logger.error(
        `${this.title} cannot answer at the port of its app, for example by websocket()`,
        error
      )
    }
  }

  /** The service's name, for log lines and errors. */
  get title(): string {
    const { name } = this.#settings
    return name === undefined ? 'A service' : `The service '${name}'`
  }

  /** The servers that carry calls. */
  get #callers(): readonly ServerTransport[] {
    return this.#servers.filter((server) => server !== this.#settings.storing?.server)
  }

  /** Whether the service listens, or is starting. */
  get isStarted(): boolean {
    return this.#listening !== undefined
  }

  /**
   * @param signals those at which the service stops, if its options name none
   * @param others is called when the service has started: no stored event begins before what it returns has resolved
   */
  async listen(
    signals: readonly ShutdownSignal[] = [],
    others: () => Promise<unknown> = () => Promise.resolve()
  ): Promise<void> {
    const listening = this.#listening ?? this.#begin(signals, others)
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

  async restartWorkers(): Promise<void> {
    if (this.role === 'alone')
      throw new OptionError(
        'options.workers',
        'workers.restart() needs options.workers, which this service does not have'
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
    // If the start has failed, its caller has got the error, and there is nothing to stop.
    if (started !== undefined) {
      this.#leaving.abort()
      this.#givingUp.abort()
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

  /** Stops the service. Resolves when its ports are free, or all its workers have ended. */
  async #giveWay(): Promise<void> {
    const started = this.#listening
    const stopped = this.stop().catch((error: unknown) =>
      this.#settings.logger.error(`${this.title} has failed to stop`, error)
    )
    await started?.catch(() => {})
    if (this.#group !== undefined) await stopped
  }

  #begin(signals: readonly ShutdownSignal[], others: () => Promise<unknown>): Promise<void> {
    this.#status = 'starting'
    this.#leaving = new AbortController()
    this.#givingUp = new AbortController()
    this.#forget = remember(() => this.#giveWay())
    this.#others = others
    this.#listening = this.#start(signals).then(
      () => {
        if (this.#status === 'starting') this.#status = 'listening'
      },
      (error) => {
        this.#core.beginDrain()
        this.#ended('starting')
        throw error
      }
    )
    return this.#listening
  }

  /** Sets the status to `stopped`, unless the service has been started again in the meantime. */
  #ended(what: ServiceStatus): void {
    if (this.#status === what) this.#status = 'stopped'
  }

  async #start(byDefault: readonly ShutdownSignal[]): Promise<void> {
    await clearEarlier()
    if (this.#callers.length === 0)
      throw new OptionError(
        'options.transport',
        `${this.title} has no transport, so it cannot listen: give it the option transport, such as 'tcp', or use it in a service that has one`
      )
    const place = placeOfWorker()
    if (this.role === 'supervisor') await this.#startWorkers()
    else if (this.role === 'alone' || place === undefined) {
      const { shutdownOn: signals = byDefault, logger } = this.#settings
      // Signals are listened to before ports are opened: otherwise a signal during the start would end the process
      // without stopping what has been started.
      const forgetSignals = stopOnSignals({ signals, logger, stop: (signal) => this.#shutDown(signal) })
      this.#forgetSignals = forgetSignals
      try {
        await this.#startServers()
      } catch (error) {
        forgetSignals()
        throw error
      }
    } else {
      const servers = this.#servers
      for (const [index, { sharing }] of servers.entries()) sharing?.join(place.shared[index])
      const { followSupervisor } = await import('@elysia-microservices/workers/worker')
      await followSupervisor({
        logger: this.#settings.logger,
        start: () => this.#startServers(),
        stats: () => this.stats(),
        answer: async (index, question) => servers[index]?.sharing?.answer(question),
        stop: () => this.#stopAll()
      })
    }
  }

  /** Starts all servers. If one fails, those that have started are stopped again. */
  async #startServers(): Promise<void> {
    const core = this.#core
    core.checkTransports(this.#callers.map(({ name }) => name))
    core.checkWraps()
    core.endDrain()
    await schemasCompiled()
    await core.start(this.#hooksEnd(HOOKS_AT_LEAST))
    try {
      // The handlers are compiled again, because the chain may have added hooks after them.
      core.compileAll()
      this.#unfollow = followedFrom(() => core.compileAll())
      this.#dispatchers = new Dispatchers(core.dispatcher(this.#settings.logger), this.#settings, core)
      await this.#startAll()
      await this.#dispatchers.started()
      this.#beginAll()
      announce(this.#settings, this.#servers)
      this.#tellUnopened()
    } catch (error) {
      this.#unfollow()
      await this.#stopServers(0)
      await core.stop(this.#hooksEnd(HOOKS_AT_LEAST))
      throw error
    }
  }

  /** Says in the log which transports of used services are not open. Each service is told of once. */
  #tellUnopened(): void {
    const { transports: ours, logger } = this.#settings
    for (const own of this.#core.ownOfUsed()) {
      const { title, transports } = own
      if (own.isStarted() || transports.every((one) => ours.includes(one)) || unopened.has(own)) continue
      unopened.add(own)
      const names = transports.map(({ name }) => name).join(', ')
      logger.warn(
        `${title} is used by another service, and its own transport (${names}) is not open: leave out its option transport, or call its listen() first`
      )
    }
  }

  /** Starts the servers that are not running yet. */
  async #startAll(): Promise<void> {
    for (const [server, dispatcher] of this.#dispatchers?.of(this.#servers) ?? []) {
      if (this.#started.has(server)) continue
      const { waitForConnection: wait, logger } = this.#settings
      const { title } = this
      const patience = { title, wait, signal: this.#givingUp.signal, logger }
      await startWhenReachable(() => server.start(dispatcher, patience.signal), patience)
      this.#started.add(server)
    }
  }

  /** Stored events go to their handlers, as soon as nothing of the start can fail any more. */
  #beginAll(): void {
    const dispatchers = this.#dispatchers
    void this.#others().then(() => {
      // Meanwhile the service may have stopped.
      if (dispatchers === this.#dispatchers) for (const server of this.#started) server.begin?.()
    })
  }

  async #stopServers(drain: number): Promise<void> {
    const started = [...this.#started]
    this.#started.clear()
    await Promise.all(started.map((server) => server.stop({ drain })))
    await this.#dispatchers?.close()
    this.#dispatchers = undefined
  }

  async #startWorkers(): Promise<void> {
    const { drain, logger, workers } = this.#settings
    checkWorkers(workers)
    await this.#stopping
    const { WorkerGroup } = await import('@elysia-microservices/workers/supervisor')
    this.#group = await WorkerGroup.start({
      servers: this.#own,
      workers: workers as Workers,
      drain,
      logger,
      leaving: this.#leaving.signal,
      title: this.title,
      stop: () => this.stop()
    })
  }

  /** Stops the service after a signal, together with the app if there is one. */
  async #shutDown(signal: string): Promise<void> {
    this.#lines ??= this.#stopLines(signal)
    this.#givingUp.abort()
    if (this.#status === 'starting' && !(await this.#hasStarted())) return
    await this.#stopAll()
  }

  /** Waits for a running start, for `drain` milliseconds at most; after that the process ends without it. */
  async #hasStarted(): Promise<boolean> {
    const { drain, logger } = this.#settings
    let late: ReturnType<typeof setTimeout> | undefined
    const isLate = new Promise<boolean>((resolve) => {
      late = setTimeout(resolve, drain, false)
    })
    const isOver = (this.#listening ?? Promise.resolve()).then(
      () => true,
      () => true
    )
    const hasStarted = await Promise.race([isOver, isLate])
    clearTimeout(late)
    if (!hasStarted)
      logger.warn(
        `${this.title} stops before it has started: the start has not ended within options.drain (${drain} ms)`
      )
    return hasStarted
  }

  /** Stops the apps that have started the service, and the service. HTTP gets `drain` milliseconds, too. */
  async #stopAll(): Promise<void> {
    const stops = [...this.hosts.values()].filter((stop) => stop !== undefined)
    const { drain, logger } = this.#settings
    const cut = setTimeout(() => {
      logger.warn(`${this.title}: HTTP of its app is cut off after options.drain (${drain} ms)`)
      for (const stop of stops) stop(true).catch(() => {})
    }, drain + HTTP_LATER)
    try {
      await Promise.all(stops.map((stop) => stop()))
    } finally {
      clearTimeout(cut)
    }
    await this.stop()
  }

  /**
   * The settings of the stop hooks.
   * @param time milliseconds that all stop hooks together may take
   */
  #hooksEnd(time: number): LifeEnd {
    return { time, title: this.title, logger: this.#settings.logger }
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
    const { drain } = this.#settings
    const forgetSignals = this.#forgetSignals
    const lines = this.#lines ?? this.#stopLines()
    this.#lines = undefined
    const begun = performance.now()
    try {
      await lines.until(() => this.#stopServers(drain))
    } finally {
      this.#unfollow()
      const left = drain - (performance.now() - begun)
      await this.#core.stop(this.#hooksEnd(Math.max(HOOKS_AT_LEAST, left)))
      // The listeners are removed only here: if a signal arrives while the service is being stopped for another
      // reason, the process waits for this stop.
      forgetSignals()
    }
  }
}

function roleOf(workers: Workers | undefined): Role {
  if (workers === undefined) return 'alone'
  return placeOfWorker() === undefined ? 'supervisor' : 'worker'
}

/** Everything that `dev` runs: engines, services in their order, and the page. */
import { isBuiltin } from 'node:module'
import { basename, delimiter, join, relative, resolve } from 'node:path'
import { OptionError } from '@elysia-microservices/transport/kit'
import type { Plan, ServicePlan } from './config.ts'
import { type Ask, Door, NAME, PAGE, SOCKET, type Told } from './door.ts'
import { Downtime } from './downtime.ts'
import { ownFolder } from './engines/folder.ts'
import { claimData, type FoundEngine, findEngine, pageUrlOf } from './engines/index.ts'
import { Guard } from './guarded.ts'
import type { Lines } from './lines.ts'
import type { Page } from './page.ts'
import { programsOf } from './program.ts'
import { programFolders } from './programs.ts'
import { RunningEngine } from './running-engine.ts'
import { commandOf, entryOf } from './runtime.ts'
import { RunningService } from './service.ts'
import { filesOf, SourceWatch } from './sources.ts'

/** The environment variable with the file in which a service keeps its durable events. */
const EVENTS_FILE = 'EVENTS_FILE'

/** The running services and engines of a plan, and the page. */
export class System {
  readonly #plan: Plan
  readonly #lines: Lines
  readonly #env: NodeJS.ProcessEnv
  readonly #ready: (page: string | undefined) => void
  readonly #services = new Map<string, RunningService>()
  readonly #engines: RunningEngine[] = []
  /** Functions that release the data of engines. */
  readonly #claims: (() => void)[] = []
  readonly #folders: readonly string[]
  #door: Door | undefined
  readonly #guard = new Guard()
  readonly #downtime: Downtime
  #page: Page | undefined
  #pageUrl: string | undefined
  #configWatch: SourceWatch | undefined
  #engineUrls = new Map<string, string>()
  /** The folder with the files of events; `undefined` if no service has one, or the user has named another file. */
  #eventFolder: string | undefined
  readonly #stopping = new AbortController()
  #isReady = false
  /** The set-up of engines, socket and page. A stop during the start waits for it. */
  #settingUp: Promise<void> | undefined
  #stopped: Promise<string[]> | undefined

  /**
   * @param env environment variables for services, in addition to those of this process
   * @param ready called once when all services are ready, with the page's URL if there is a page
   */
  constructor(
    plan: Plan,
    lines: Lines,
    env: NodeJS.ProcessEnv,
    ready: (page: string | undefined) => void = () => {}
  ) {
    this.#plan = plan
    this.#ready = ready
    this.#lines = lines
    this.#downtime = new Downtime((text) => lines.say(text))
    this.#folders = programFolders(plan.root)
    this.#env = { ...process.env, ...env, PATH: this.#folders.join(delimiter) }
  }

  /**
   * Starts everything. Resolves when all services have been started; the last ones may not be ready yet.
   * @throws {OptionError} an engine, a runtime or a file is missing
   */
  async start(): Promise<void> {
    this.#settingUp = this.#setUp()
    await this.#settingUp.catch((error) => {
      // A set-up that was interrupted by a stop may fail, and its error is ignored.
      if (!this.#isStopping) throw error
    })
    if (this.#isStopping) return
    for (const plan of this.#plan.services) this.#services.set(plan.name, this.#newService(plan))
    const all = [...this.#services.values()]
    await Promise.all(
      all.map(async (service) => {
        await Promise.all(service.plan.after.map((name) => this.#services.get(name)?.settled))
        service.start()
      })
    )
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted
  }

  /** Prints once that all services are ready. */
  #sayReady(): void {
    if (this.#isReady || ![...this.#services.values()].every(({ isReady }) => isReady)) return
    this.#isReady = true
    this.#lines.say('All services are ready')
    this.#ready(this.#pageUrl)
  }

  async #setUp(): Promise<void> {
    const { root, engines, services, hasEventFiles, pagePort, file } = this.#plan
    // All commands are checked before anything is started, so that nothing has to be ended if something is missing.
    for (const service of services) commandOf(service, root, this.#folders)
    const found = await Promise.all(
      [...engines].map(([name, engine]) => findEngine(name, engine, root, this.#folders))
    )
    this.#engineUrls = new Map(found.map(({ engine, url }) => [engine.name, pageUrlOf(engine, url)]))
    for (const { engine, url } of found) if (engine.hasUsers !== true) this.#env[engine.variable] = url
    if (hasEventFiles && process.env[EVENTS_FILE] === undefined) {
      this.#eventFolder = ownFolder(root)
      this.#lines.say(
        `Durable events are kept in files, ${relative(root, this.#eventFolder)}/<service>.db; set ${EVENTS_FILE} to use another`
      )
    }
    if (file !== undefined) this.#watchConfig(file)
    this.#door = await Door.open((told, ask) => this.#told(told, ask))
    await Promise.all(found.map((engine) => this.#startEngine(engine)))
    if (pagePort !== undefined && !this.#isStopping) await this.#openPage(pagePort)
  }

  /** Ends everything, callers first. @returns the names of programs that had to be killed */
  stop(): Promise<string[]> {
    this.#stopping.abort()
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  /** Kills everything. */
  kill(): void {
    for (const service of this.#services.values()) service.kill()
    for (const engine of this.#engines) engine.kill()
  }

  async #stop(): Promise<string[]> {
    await this.#settingUp?.catch(() => {})
    this.#configWatch?.stop()
    const stops = new Map<string, Promise<boolean>>()
    const stop = (service: RunningService): Promise<boolean> => {
      const { name } = service.plan
      const known = stops.get(name)
      if (known !== undefined) return known
      const callers = [...this.#services.values()].filter(({ plan }) => plan.after.includes(name))
      const stopped = Promise.all(callers.map(stop)).then(() => service.stop())
      stops.set(name, stopped)
      return stopped
    }
    const services = [...this.#services.values()].map(
      async (service) => [service.plan.name, await stop(service)] as const
    )
    await this.#page?.close()
    const ended = await Promise.all(services)
    const engines = await Promise.all(
      this.#engines.map(async (engine) => [engine.name, await engine.stop()] as const)
    )
    for (const giveBack of this.#claims) giveBack()
    await Promise.all([this.#door?.close(), this.#guard.close()])
    return [...ended, ...engines].flatMap(([name, wasKilled]) => (wasKilled ? [name] : []))
  }

  #watchConfig(file: string): void {
    const say = (text: string) => this.#lines.say(text)
    const edited = () => say(`${basename(file)} was edited: start dev again`)
    this.#configWatch = new SourceWatch(() => new Set([file]), edited, say)
  }

  async #startEngine(found: FoundEngine): Promise<void> {
    const { said, start } = found
    this.#claims.push(await claimData(found, (this.#door as Door).path))
    this.#lines.say(said)
    if (start === undefined || this.#isStopping) return
    const running = new RunningEngine({
      found,
      start,
      lines: this.#lines,
      grace: this.#plan.grace,
      guard: this.#guard,
      downtime: this.#downtime
    })
    this.#engines.push(running)
    await running.start()
  }

  async #openPage(port: number): Promise<void> {
    const { Page } = await import('./page.ts')
    const programs = programsOf(() => [...this.#services.values(), ...this.#engines])
    // Where the runtime has no SQLite, the page keeps the last hour in memory.
    const hasSqlite = ['bun:sqlite', 'node:sqlite'].some((name) => isBuiltin(name))
    const history = hasSqlite ? join(ownFolder(this.#plan.root), 'history.sqlite') : undefined
    this.#page = new Page((text) => this.#lines.say(text), programs, history)
    this.#pageUrl = await this.#page.open(port)
    this.#lines.say(`All services are shown at ${this.#pageUrl}`)
  }

  #newService(plan: ServicePlan): RunningService {
    const { root, patience, grace } = this.#plan
    const { name, cwd = '.', watch, env } = plan
    const command = commandOf(plan, root, this.#folders)
    return new RunningService({
      plan: { ...plan, after: plan.after },
      lines: this.#lines,
      patience,
      grace,
      root,
      guard: this.#guard,
      downtime: this.#downtime,
      ready: () => this.#sayReady(),
      start: () => {
        const page = this.#pageUrl === undefined ? {} : { [PAGE]: addressed(this.#pageUrl) }
        const told = { [SOCKET]: (this.#door as Door).path, [NAME]: name, ...page }
        const { file, args, shell } = command
        return {
          file,
          args,
          shell,
          cwd: resolve(root, cwd),
          env: {
            ...this.#exporterEnv(name),
            ...(this.#eventFolder !== undefined && { [EVENTS_FILE]: join(this.#eventFolder, `${name}.db`) }),
            ...this.#env,
            ...command.env,
            ...env,
            ...told
          }
        }
      },
      files: () =>
        filesOf(
          entryOf(plan, root),
          (watch === undefined || watch === false ? [] : watch).map((path) => resolve(root, path))
        ),
      ownerOf: (port) =>
        [...this.#services.values()].find(({ plan: other, ports }) => other.name !== name && ports.has(port))
          ?.plan.name
    })
  }

  /**
   * The environment variables that OpenTelemetry exporters read: a program's own SDK sends its spans to the page,
   * unless the program names another address.
   */
  #exporterEnv(name: string): NodeJS.ProcessEnv {
    if (this.#pageUrl === undefined) return {}
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: addressed(this.#pageUrl),
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_SERVICE_NAME: name
    }
  }

  #told(told: Told, ask: Ask): void {
    const { name, announcement } = told
    this.#services.get(name)?.told(told)
    if (announcement === undefined) return
    this.#page?.add(name, announcement, this.#engineUrls, ask).catch((error: unknown) => {
      if (!(error instanceof OptionError)) throw error
      this.#lines.say(`${name} is not shown: ${error.message}`)
    })
  }
}

/** The page's URL with an IP address instead of a name, because the name may be resolved to another address. */
function addressed(url: string): string {
  return url.replace('//localhost:', '//127.0.0.1:')
}

/** Decides whether a process can take work, and gives the reason if it cannot. */
import {
  type ClientStatus,
  checkNames,
  mustBeText,
  OptionError,
  type ServiceStatus,
  type WatchedService
} from '@elysia-microservices/transport/kit'

/**
 * Checks something that the service needs, such as a database. The check fails if the function throws, rejects, or
 * returns `false`.
 */
export type Check = () => unknown

/** The services and checks that decide about health. */
export interface HealthOptions {
  /** Services that must listen. A service that uses the result of `health()` is included. Default: none. */
  readonly services?:
    | readonly (Pick<WatchedService, 'status'> & Partial<Pick<WatchedService, 'stats'>>)[]
    | undefined
  /**
   * Clients that the services need, by name: none of them may be reconnecting or closed. A client that has not connected
   * yet counts as well. Default: none.
   */
  readonly clients?: Readonly<Record<string, { readonly status: ClientStatus }>> | undefined
  /** Further checks by name, such as a query of a database. Default: none. */
  readonly checks?: Readonly<Record<string, Check>> | undefined
  /** Milliseconds that each check may take. Default: 1,000. */
  readonly checkTimeout?: number | undefined
}

/** The result of one check. */
export type CheckReport =
  | { readonly ok: true; readonly ms: number }
  | { readonly ok: false; readonly reason: string }

/** The state of one transport. */
export interface TransportReport {
  readonly transport: string
  readonly ok: boolean
  /** The reason; present only if the transport takes no messages. */
  readonly reason?: string
}

/** The answer of `/healthz`. */
export interface HealthReport {
  readonly ok: boolean
  /** The status of each service, in the order of `services`. */
  readonly services: readonly ServiceStatus[]
  /** The transports of these services, with the reason if a transport takes no messages at the moment. */
  readonly transports: readonly TransportReport[]
  readonly checks: Readonly<Record<string, CheckReport>>
  /** The status of each client; missing if no clients are watched. */
  readonly clients?: Readonly<Record<string, ClientStatus>>
}

/** A service of which only the status is required. */
type Looked = Pick<WatchedService, 'status'> & Partial<Pick<WatchedService, 'stats'>>

const DEFAULT_TIMEOUT = 1_000

/** The state of a service. A user may pass any object as a service, so reading it may fail. */
interface ServiceReport {
  readonly status: ServiceStatus
  readonly transports: readonly TransportReport[]
}

function reportOf(service: Looked): ServiceReport {
  try {
    const transports = (service.stats?.() ?? []).map(({ transport, unavailable }) => {
      const name = textOf(transport)
      return unavailable === undefined
        ? { transport: name, ok: true }
        : { transport: name, ok: false, reason: textOf(unavailable) }
    })
    return { status: textOf(service.status) as ServiceStatus, transports }
  } catch (error) {
    return { status: 'stopped', transports: [{ transport: 'unknown', ok: false, reason: reasonOf(error) }] }
  }
}

/** The text of what a check has thrown. Anything can be thrown, also what cannot be read. */
function reasonOf(error: unknown): string {
  try {
    return textOf(error instanceof Error ? error.message : error)
  } catch {
    return 'the reason cannot be read'
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : String(value)
}

/** Looks at services and runs checks. */
export class Health {
  readonly #services: Looked[]
  readonly #checks: [string, Check][]
  readonly #clients: [string, { readonly status: ClientStatus }][]
  readonly #timeout: number
  /**
   * The checks that are running. All probes that arrive meanwhile share them, so that many probes do not cause many
   * queries of a database.
   */
  #running: Promise<Readonly<Record<string, CheckReport>>> | undefined

  /** @throws {OptionError} an option is invalid */
  constructor(options: HealthOptions) {
    checkNames('options', options, ['services', 'clients', 'checks', 'checkTimeout', 'port', 'host'])
    const { services = [], clients = {}, checks = {}, checkTimeout = DEFAULT_TIMEOUT } = options
    const { host } = options as { readonly host?: unknown }
    if (host !== undefined) mustBeText('options.host', host)
    for (const [name, value] of Object.entries({ clients, checks }))
      if (typeof value !== 'object' || value === null)
        throw OptionError.expected(`options.${name}`, `an object of ${name} by their names`, value)
    for (const [name, check] of Object.entries(checks))
      if (typeof check !== 'function')
        throw OptionError.expected(`options.checks.${name}`, 'a function', check)
    if (typeof checkTimeout !== 'number' || !(checkTimeout > 0))
      throw OptionError.expected('options.checkTimeout', 'a number of milliseconds above 0', checkTimeout)
    if (!Array.isArray(services) || services.some((service) => typeof service?.status !== 'string'))
      throw OptionError.expected('options.services', 'a list of services', services)
    for (const [name, client] of Object.entries(clients))
      if (typeof client?.status !== 'string')
        throw OptionError.expected(`options.clients.${name}`, 'a client made by connect()', client)
    this.#services = [...services]
    this.#clients = Object.entries(clients)
    this.#checks = Object.entries(checks)
    this.#timeout = checkTimeout
  }

  /** Adds a service that must listen. */
  add(service: Looked): void {
    if (!this.#services.includes(service)) this.#services.push(service)
  }

  /** The current state of all services, transports and checks. Never rejects. */
  async report(): Promise<HealthReport> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    const checks = await this.#running
    const reports = this.#services.map(reportOf)
    const clients = Object.fromEntries(this.#clients.map(([name, { status }]) => [name, status]))
    const services = reports.map(({ status }) => status)
    const transports = reports.map((report) => report.transports)
    const ok =
      services.every((status) => status === 'listening') &&
      // A service counts as reachable if at least one of its transports takes messages.
      transports.every((of) => of.length === 0 || of.some((each) => each.ok)) &&
      Object.values(clients).every((status) => status !== 'reconnecting' && status !== 'closed') &&
      Object.values(checks).every((each) => each.ok)
    const all = { ok, services, transports: transports.flat(), checks }
    return this.#clients.length === 0 ? all : { ...all, clients }
  }

  async #run(): Promise<Readonly<Record<string, CheckReport>>> {
    const reports = this.#checks.map(async ([name, check]) => [name, await this.#reportOf(check)] as const)
    return Object.fromEntries(await Promise.all(reports))
  }

  async #reportOf(check: Check): Promise<CheckReport> {
    const start = performance.now()
    let late: NodeJS.Timeout | undefined
    const tooLate = new Promise<never>((_, reject) => {
      late = setTimeout(() => reject(new Error(`no answer within ${this.#timeout} ms`)), this.#timeout)
    })
    try {
      const result = await Promise.race([(async () => check())(), tooLate])
      if (result === false) return { ok: false, reason: 'the check says no' }
      return { ok: true, ms: Math.round(performance.now() - start) }
    } catch (error) {
      return { ok: false, reason: reasonOf(error) }
    } finally {
      clearTimeout(late)
    }
  }
}

/** Whether a process can take work, and if not, why. */
import { OptionError, type ServiceStatus, type WatchedService } from '@elysia-microservices/transport/kit'

/** Says whether something that the service needs is there: by throwing, by rejecting, or with `false` that it is not. */
export type Check = () => unknown

/** The parts that `health()` looks at. */
export interface HealthOptions {
  /** Services that must listen. A service that uses the value of `health()` is one of them. Default: none. */
  readonly services?:
    | readonly (Pick<WatchedService, 'status'> & Partial<Pick<WatchedService, 'stats'>>)[]
    | undefined
  /** Further checks by name, such as of a database. Default: none. */
  readonly checks?: Readonly<Record<string, Check>> | undefined
  /** Milliseconds that each check may take. Default: 1,000. */
  readonly timeout?: number | undefined
}

/** The result of one check. */
export type CheckReport =
  | { readonly ok: true; readonly ms: number }
  | { readonly ok: false; readonly reason: string }

/** The state of one transport. */
export interface TransportReport {
  readonly transport: string
  readonly ok: boolean
  /** Only where it takes no messages. */
  readonly reason?: string
}

/** The answer of `/healthz`. */
export interface HealthReport {
  readonly ok: boolean
  /** In the order of `services`. */
  readonly services: readonly ServiceStatus[]
  /** The transports of these services, with the reason why one takes no messages at the moment. */
  readonly transports: readonly TransportReport[]
  readonly checks: Readonly<Record<string, CheckReport>>
}

/** A service, of which only the status need be there. */
type Looked = Pick<WatchedService, 'status'> & Partial<Pick<WatchedService, 'stats'>>

const DEFAULT_TIMEOUT = 1_000

function transportsOf(service: Looked): TransportReport[] {
  return (service.stats?.() ?? []).map(({ transport, unavailable }) =>
    unavailable === undefined ? { transport, ok: true } : { transport, ok: false, reason: unavailable }
  )
}

/** Looks at services and runs checks. */
export class Health {
  readonly #services: Looked[]
  readonly #checks: [string, Check][]
  readonly #timeout: number
  /** One run answers all who ask meanwhile, so that many who ask do not become many who ask the database. */
  #running: Promise<Readonly<Record<string, CheckReport>>> | undefined

  /** @throws {OptionError} an option is invalid */
  constructor({ services = [], checks = {}, timeout = DEFAULT_TIMEOUT }: HealthOptions) {
    for (const [name, check] of Object.entries(checks))
      if (typeof check !== 'function')
        throw OptionError.expected(`options.checks.${name}`, 'a function', check)
    if (typeof timeout !== 'number' || !(timeout > 0))
      throw OptionError.expected('options.timeout', 'a number of milliseconds above 0', timeout)
    if (!Array.isArray(services) || services.some((service) => typeof service?.status !== 'string'))
      throw OptionError.expected('options.services', 'a list of services', services)
    this.#services = [...services]
    this.#checks = Object.entries(checks)
    this.#timeout = timeout
  }

  /** One more service that must listen. */
  add(service: Looked): void {
    if (!this.#services.includes(service)) this.#services.push(service)
  }

  /** The current state of all parts. Never rejects. */
  async report(): Promise<HealthReport> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    const checks = await this.#running
    const services = this.#services.map(({ status }) => status)
    const transports = this.#services.map(transportsOf)
    const ok =
      services.every((status) => status === 'listening') &&
      // A service can be reached as long as one of its transports can.
      transports.every((of) => of.length === 0 || of.some((each) => each.ok)) &&
      Object.values(checks).every((each) => each.ok)
    return { ok, services, transports: transports.flat(), checks }
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
      return { ok: false, reason: error instanceof Error ? error.message : String(error) }
    } finally {
      clearTimeout(late)
    }
  }
}

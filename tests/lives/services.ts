/** The services of a life: they begin, stop, end with their process, and begin again. */
import type { Carrier } from './carrier.ts'
import { groupsOf, otherOf, type Service, serviceOf } from './handlers.ts'
import type { Ledger } from './ledger.ts'
import type { Config, Options } from './plan.ts'
import { wait } from './world.ts'

/** Milliseconds after which another process takes the place of one that has crashed. */
const AFTER_CRASH = 500

export class Services {
  /** Whether one was away, so that events missed it. */
  hasGap = false
  /** Whether at some time no process of the service ran. */
  wasDeserted = false
  readonly #carrier: Carrier
  readonly #config: Config
  readonly #ledger: Ledger
  /** Counts the service as busy until the promise settles. */
  readonly #task: (act: () => Promise<unknown>) => void
  readonly #own: (Service | undefined)[] = []
  #other: Service | undefined
  #hasArrived = false
  /** The ends of those whose processes have died. */
  readonly #dead: Promise<unknown>[] = []
  /** Counts the processes with everything that have died. */
  #deaths = 0

  constructor(carrier: Carrier, config: Config, ledger: Ledger, task: (act: () => Promise<unknown>) => void) {
    this.#carrier = carrier
    this.#config = config
    this.#ledger = ledger
    this.#task = task
  }

  get all(): readonly (Service | undefined)[] {
    return [...this.#own, this.#other]
  }

  async begin(): Promise<void> {
    const { services, isLate } = this.#config
    for (let n = 0; n < services; n++) {
      const service = this.#newService(n)
      this.#own.push(service)
      await service.listen()
    }
    if (!isLate) await this.arrive()
  }

  /** The service of another name begins for the first time, unless it has. */
  async arrive(): Promise<void> {
    const { hasOther, isLate, startsNew } = this.#config
    if (!hasOther || this.#hasArrived) return
    this.#hasArrived = true
    if (isLate) this.hasGap = true
    const [, name = ''] = groupsOf(this.#config)
    const isNew = isLate === true && startsNew === true
    if (isNew) this.#ledger.fresh.startsWithNew(name, this.#ledger.published.values())
    const newOther = () => otherOf(this.#carrier.service('other', 0), this.#config, this.#ledger)
    this.#other = await this.#listening(newOther)
    if (isNew) this.#ledger.fresh.hasStarted(name)
  }

  /** One more process of the service begins. */
  join(): Promise<void> {
    return this.#begin(this.#own.push(undefined) - 1)
  }

  /** Stops a service, and begins it again after a time, perhaps with other options. */
  async restart(n: number, after: number, options?: Options): Promise<void> {
    const service = this.#own[n]
    if (service === undefined) return
    this.#left(n)
    await service.stop()
    await wait(after)
    await this.#begin(n, options)
  }

  /**
   * The process of one service ends. What is left of it has lost its servers for ever, and must end, too.
   * @returns whether there was one
   */
  kill(n: number, after: number): boolean {
    const service = this.#own[n]
    if (service === undefined) return false
    this.#left(n)
    this.#carrier.kill?.(`service-${n}`)
    this.#dead.push(service.stop())
    this.#task(async () => {
      await wait(after)
      await this.#begin(n)
    })
    return true
  }

  /** The process with all services has ended. What is left of them runs on without its store, and must end, too. */
  die(): void {
    this.hasGap = true
    this.#deaths++
    for (const [n, service] of this.#own.entries()) {
      if (service === undefined) continue
      this.#own[n] = undefined
      this.#dead.push(service.stop())
      this.#task(() => this.#begin(n))
    }
    if (this.#other === undefined) return
    this.#dead.push(this.#other.stop())
    this.#other = undefined
    this.#hasArrived = false
    this.#task(() => this.arrive())
  }

  stop(): Promise<unknown> {
    return Promise.all(this.all.map((service) => service?.stop()))
  }

  /** Resolves when what is left of dead processes has ended. */
  buried(): Promise<unknown> {
    return Promise.all(this.#dead)
  }

  #newService(n: number, options?: Options): Service {
    const place = this.#carrier.service(`service-${n}`, n, options)
    const crash = () => {
      if (this.#own[n] === service) this.kill(n, AFTER_CRASH)
    }
    const service: Service = serviceOf({ ...place, crash }, this.#config, this.#ledger, options)
    return service
  }

  /** A service is no longer there. */
  #left(n: number): void {
    this.hasGap = true
    this.#own[n] = undefined
    if (this.#own.every((one) => one === undefined)) this.wasDeserted = true
  }

  async #begin(n: number, options?: Options): Promise<void> {
    this.#own[n] = await this.#listening(() => this.#newService(n, options))
  }

  /** A service that has begun to listen, however often that takes. */
  async #listening(newService: () => Service): Promise<Service | undefined> {
    let deaths = this.#deaths
    let service = newService()
    for (let attempt = 0; attempt < 200; attempt++)
      try {
        await service.listen()
        return service
      } catch {
        await wait(500)
        // Its process has died meanwhile.
        if (deaths !== this.#deaths) service = newService()
        deaths = this.#deaths
      }
    this.#ledger.breaks('a service could not listen again')
    return undefined
  }
}

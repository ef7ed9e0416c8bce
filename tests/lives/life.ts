/** One life: services and clients are made, the steps of a plan happen, and in the end all promises are looked at. */

import { connect, type StoringTransport, type UntypedStoringClient } from 'elysia-microservices/client'
import { Calls, isCall } from './calls.ts'
import { type Carrier, WITHOUT_LEASES } from './carrier.ts'
import { ENGINES, REDRIVES, RSOCKETS, SOCKETS, STORES } from './carriers.ts'
import { auditFigures } from './figures.ts'
import { groupsOf, otherOf, pageOf, type Service, serviceOf } from './handlers.ts'
import { Ledger } from './ledger.ts'
import { Operators } from './operators.ts'
import { Pauses } from './pauses.ts'
import type { Options, Plan, Step } from './plan.ts'
import { Probes } from './probes.ts'
import { isWrong, saidBy } from './stranger.ts'
import { type World, wait } from './world.ts'

/** Milliseconds in peace after which nothing may wait any more. */
const PEACE = 130_000
/** Milliseconds that closing may take. */
const CLOSING = 60_000
/** Milliseconds between losses that come one after the other. */
const BETWEEN = 30
type Client = UntypedStoringClient

/** A world for a life: the simulated one, or one in real time. */
export type Surroundings = Pick<
  World,
  'now' | 'turns' | 'hop' | 'isBusy' | 'isExhausted' | 'uncaught' | 'pass' | 'after'
> & { readonly timers: { readonly size: number } }

export class Life {
  readonly ledger: Ledger
  readonly #world: Surroundings
  readonly #plan: Plan
  readonly #carrier: Carrier
  readonly #calls: Calls
  readonly #clients: (Client | undefined)[] = []
  readonly #services: (Service | undefined)[] = []
  #other: Service | undefined
  /** The number of tasks that are going on: steps that wait, and services that end. */
  #running = 0
  #isAway = 0
  #isStill = 0
  /** Whether a service or client was away, so that events missed it. */
  #hasGap = false
  /** Whether at some time no process of the service ran. */
  #wasDeserted = false
  /** Whether something was lost on purpose. */
  #hasLoss = false

  constructor(world: Surroundings, plan: Plan, carrier: Carrier) {
    this.#world = world
    this.#plan = plan
    this.ledger = new Ledger(() => world.turns, groupsOf(plan.config))
    this.#carrier = carrier
    this.#operators = new Operators(() => this.#newClient(9), this.ledger, plan.config.carrier === 'kafka')
    this.#pauses = new Pauses(this.#operators, this.ledger)
    const { suffix, timeout } = plan.config
    this.#calls = new Calls(world, this.ledger, (n) => this.#clients[n], {
      timeout,
      suffix,
      isCalm: isCalm(plan)
    })
  }

  async run(): Promise<void> {
    const { config, steps } = this.#plan
    const isPassing = this.#watched()
    await this.#until(this.#begin(), 60_000, 'the services did not begin to listen')
    let next = 0
    while (next < steps.length) {
      const step = steps[next++] as Step
      await this.#world.pass(() => false, Math.max(0, step.at + this.#began - this.#world.now))
      try {
        this.#do(step)
      } catch (error) {
        this.#world.uncaught(error)
      }
    }
    await this.#world.pass(() => this.#isIdle, 30_000)
    await this.#rest()
    this.ledger.auditPeace()
    await this.#probe()
    // Refused events are told to those who are still there, and on Nest's wire events wait for a place.
    await this.#world.pass(() => false, config.carrier === 'nest' ? 60_000 : 1_000)
    this.ledger.auditEvents()
    await auditFigures(this.#world, [...this.#services, this.#other], this.ledger)
    // Within a process an event is lost only if one of two names is away, and the other one hears it.
    const mayMiss = (this.#hasGap || this.#hasLoss) && (config.carrier !== 'memory' || config.hasOther)
    await this.#end()
    this.ledger.audit({
      mayLose: mayMiss && !this.#isPromisedToArrive(),
      mayCountMore: this.#hasGap && config.carrier === 'nats',
      // Over Redis, processes that begin at one moment do not know of each other (docs/redis.md).
      mayDouble: this.#wasDeserted && config.carrier === 'redis',
      mayRepeat: this.#hasLoss && (ENGINES.has(config.carrier) || config.carrier === 'sqlite'),
      mayBeLate: this.#hasLoss || this.ledger.hasHop
    })
    if (this.#world.isExhausted) this.ledger.breaks('the world did not come to rest')
    const left = this.#carrier.left()
    if (left !== '') this.ledger.breaks(`in the end there are ${left}`)
    isPassing()
  }

  #began = 0
  readonly #operators: Operators
  readonly #pauses: Pauses
  /** The ends of what belonged to processes that have died. */
  readonly #dead: Promise<unknown>[] = []

  /** Lets the world be in peace until nothing waits; dead letters are given back until there are none. */
  async #rest(): Promise<void> {
    // An event of the future comes by the wall clock, which may have been set back.
    const end = this.#world.now + PEACE + Math.max(0, this.ledger.latestDue - Date.now())
    while (this.#world.now < end && !(await this.#world.pass(() => this.#isSettled(), 10_000)))
      if (REDRIVES.has(this.#plan.config.carrier) && this.#isIdle) this.#task(() => this.#operators.redrive())
    await this.#world.pass(() => this.#isIdle, 30_000)
    if (this.#running > 0) this.ledger.breaks('in peace a step did not end')
  }

  async #probe(): Promise<void> {
    const { carrier, suffix } = this.#plan.config
    // Kafka soon deletes answers that are minutes old by their time.
    if (carrier === 'kafka' && Math.abs(this.#world.hop) > 60_000) return
    const probes = new Probes(this.ledger, suffix)
    for (const [n, client] of this.#clients.entries())
      if (client !== undefined)
        await this.#until(
          probes.ask(client, n, STORES.has(carrier)),
          PEACE,
          `client ${n} is not served in peace`
        )
    await this.#world.pass(() => probes.isDone, PEACE)
    probes.audit()
  }

  #isPromisedToArrive(): boolean {
    const { carrier, resume } = this.#plan.config
    return (
      (carrier === 'rsocket' || carrier === 'websocket') &&
      resume &&
      !this.#plan.steps.some((step) => LOSING.has(step.do))
    )
  }

  /** Errors that nobody has caught break a promise. */
  #watched(): () => void {
    const uncaught = (error: unknown) =>
      this.ledger.breaks(
        `nobody has caught ${error instanceof Error ? (error.stack ?? error.message).slice(0, 600) : error}`
      )
    this.#world.uncaught = uncaught
    process.on('uncaughtException', uncaught).on('unhandledRejection', uncaught)
    return () => process.off('uncaughtException', uncaught).off('unhandledRejection', uncaught)
  }

  async #begin(): Promise<void> {
    const { config } = this.#plan
    for (let n = 0; n < config.services; n++) {
      const service = this.#newService(n)
      this.#services.push(service)
      await service.listen()
    }
    if (config.hasOther) {
      const other = otherOf(this.#carrier.service('other', 0), config, this.ledger)
      await other.listen()
      this.#other = other
    }
    for (let n = 0; n < config.clients; n++) this.#clients.push(this.#newClient(n))
    this.#began = this.#world.now
  }

  #newClient(n: number): Client {
    const name = `client-${n}`
    return connect({
      ...(this.#carrier.client(name) as { readonly transport: StoringTransport }),
      ...(RSOCKETS.has(this.#plan.config.carrier) ? { service: pageOf(this.ledger) } : {}),
      name,
      timeout: this.#plan.config.timeout || false,
      logger: this.ledger.logger,
      onStatus: (event) => {
        if (event.type === 'event-refused') this.#refused(n, event.pattern, event.error as { code?: unknown })
      }
    })
  }

  /** A service has refused an event, and its sender was told. */
  #refused(client: number, pattern: string, { code }: { readonly code?: unknown }): void {
    const { carrier, lease } = this.#plan.config
    this.ledger.note(`refused ${pattern}`)
    this.ledger.refused++
    // A service that stops handles what was sent to it, and then its clients know.
    if (code === 'PATTERN_NOT_FOUND' && SOCKETS.has(carrier))
      this.ledger.breaks('an event was refused although its handler was never gone')
    else if (lease && client !== WITHOUT_LEASES)
      this.ledger.breaks('an event was refused although its client waits for leases')
  }

  #newService(n: number, options?: Options): Service {
    const { config } = this.#plan
    return serviceOf(this.#carrier.service(`service-${n}`, n, options), config, this.ledger, options)
  }

  get #isIdle(): boolean {
    return this.#running === 0 && this.#calls.waiting === 0
  }

  #isSettled(): boolean {
    const { calls } = this.ledger
    if (!this.#isIdle) return false
    for (const call of calls.values()) if (call.settled === 0) return false
    return this.ledger.isAllHandled()
  }

  /** Waits in the world's time. */
  async #until(promise: Promise<unknown>, limit: number, otherwise: string): Promise<void> {
    let isDone = false
    promise.then(
      () => (isDone = true),
      (error) => {
        isDone = true
        this.ledger.breaks(`${otherwise}: ${error instanceof Error ? error.message : error}`)
      }
    )
    if (!(await this.#world.pass(() => isDone, limit))) this.ledger.breaks(otherwise)
  }

  async #end(): Promise<void> {
    await this.#until(Promise.all(this.#dead), CLOSING, 'a process that has lost its file did not end')
    if (this.#plan.config.every)
      await this.#until(this.#endRecurring(), CLOSING, 'recurring events did not end')
    const clients = this.#clients.map((client) => client?.close())
    await this.#until(Promise.all(clients), CLOSING, 'the clients did not close')
    const services = [...this.#services, this.#other].map((service) => service?.stop())
    await this.#until(Promise.all(services), CLOSING, 'the services did not stop')
    // Whatever was on its way arrives.
    await this.#world.pass(() => !this.#world.isBusy && this.#world.timers.size === 0, 10_000)
    await this.#world.pass(() => false, 100)
    if (this.#world.timers.size > 0) this.ledger.breaks(`in the end ${this.#world.timers.size} timers run`)
  }

  /** Stops the services, and deletes the next recurring events, which would wait for ever. */
  async #endRecurring(): Promise<void> {
    await Promise.all([...this.#services, this.#other].map((service) => service?.stop()))
    await this.#world.pass(() => this.#isAway + this.#isStill === 0, 10_000)
    await this.#operators.cancelAll()
  }

  #do(step: Step): void {
    this.ledger.note(`step ${step.do} at ${this.#world.now}`)
    if (isCall(step)) this.#calls.make(step)
    else this.#fault(step)
  }

  #fault(step: Step): void {
    switch (step.do) {
      case 'cut':
        this.#hasLoss = true
        return this.#carrier.cut?.(`client-${step.client}`)
      case 'freeze':
        this.#hasLoss = true
        return this.#carrier.freeze?.(`client-${step.client}`, step.for)
      case 'restart':
        return this.#task(async () => {
          for (let time = 0; time < step.times; time++) await this.#restart(step.service, step.for)
        })
      case 'deploy':
        return this.#task(async () => {
          await this.#restart(step.service, 0, step.options)
          if (!STORES.has(this.#plan.config.carrier) || step.options.files) return
          await wait(step.for)
          await this.#restart(step.service, 0)
        })
      case 'hop':
        this.#world.hop += step.by
        this.ledger.hasHop = true
        return
      case 'join':
        return this.#task(() => this.#join(this.#services.push(undefined) - 1))
      case 'redrive':
        return this.#task(() => this.#operators.redrive())
      case 'pause':
        return this.#task(async () => {
          for (let time = 0; time < step.times; time++) {
            await this.#pauses.pause(step.for)
            await wait(step.times > 1 ? 50 : 0)
          }
        })
      case 'away':
        this.#hasLoss = true
        if (this.#isAway++ === 0) this.#carrier.stop?.()
        return void this.#world.after(step.for, () => {
          if (--this.#isAway === 0) this.#carrier.start?.()
        })
      case 'still':
        this.#hasLoss = true
        if (this.#isStill++ === 0) this.#carrier.suspend?.()
        return void this.#world.after(step.for, () => {
          if (--this.#isStill === 0) this.#carrier.resume?.()
        })
      case 'lose':
        this.#hasLoss = true
        return this.#task(async () => {
          for (let time = 0; time < step.times; time++) {
            this.#carrier.lose?.(`${step.end}-${step.n}`, step.for)
            await wait(step.for + BETWEEN)
          }
        })
      case 'die':
        this.#hasLoss = true
        return this.#die()
      case 'stranger':
        return this.#carrier.stranger?.(saidBy(step), () => {
          if (this.#plan.config.carrier !== 'websocket' && isWrong(step))
            this.ledger.breaks('a stranger who had sent what nobody may was not turned out')
        })
      case 'close': {
        const client = this.#clients[step.client]
        this.#hasGap = true
        if (client === undefined) return
        this.#clients[step.client] = undefined
        return this.#task(async () => {
          await client.close()
          this.#clients[step.client] = this.#newClient(step.client)
        })
      }
    }
  }

  /** The process ends. What is left of it runs on without its file, and must end, too. */
  #die(): void {
    this.#hasGap = true
    this.#carrier.die?.()
    for (const [n, client] of this.#clients.entries()) {
      if (client === undefined) continue
      this.#dead.push(client.close())
      this.#clients[n] = this.#newClient(n)
    }
    for (const [n, service] of this.#services.entries()) {
      if (service === undefined) continue
      this.#services[n] = undefined
      this.#dead.push(service.stop())
      this.#task(() => this.#join(n))
    }
    if (this.#other === undefined) return
    this.#dead.push(this.#other.stop())
    const { config } = this.#plan
    const other = otherOf(this.#carrier.service('other', 0), config, this.ledger)
    this.#other = other
    this.#task(() => other.listen())
  }

  /** Stops a service, and begins it again after a time, perhaps with other options. */
  async #restart(n: number, after: number, options?: Options): Promise<void> {
    const service = this.#services[n]
    if (service === undefined) return
    this.#hasGap = true
    this.#services[n] = undefined
    if (this.#services.every((one) => one === undefined)) this.#wasDeserted = true
    await service.stop()
    await wait(after)
    await this.#join(n, options)
  }

  async #join(at: number, options?: Options): Promise<void> {
    const service = this.#newService(at, options)
    for (let attempt = 0; attempt < 200; attempt++)
      try {
        await service.listen()
        this.#services[at] = service
        return
      } catch {
        await wait(500)
      }
    this.ledger.breaks('a service could not listen again')
  }

  #task(act: () => Promise<unknown>): void {
    this.#running++
    act().then(
      () => void this.#running--,
      (error) => {
        this.#running--
        this.ledger.breaks(`a step failed: ${error instanceof Error ? error.stack : error}`)
      }
    )
  }
}

/** Whether nothing happens in a life because of which a call may fail. An engine's server needs dozens of turns for one. */
function isCalm({ config, steps }: Plan): boolean {
  const { carrier, delay, inFlight, inFlightPerConnection, timeout } = config
  const least = 2_000 + (ENGINES.has(carrier) ? 50 * delay : 0)
  const isUnlimited = inFlight + inFlightPerConnection === 0
  return isUnlimited && (timeout === 0 || timeout >= least) && steps.every(isCall)
}

/** Steps after which an event may be lost although its connection is resumed. */
const LOSING = new Set<Step['do']>(['restart', 'deploy', 'close', 'stranger', 'freeze'])

/** One life: services and clients are made, the steps of a plan happen, and in the end all promises are looked at. */

import { connect, type StoringTransport, type UntypedStoringClient } from 'elysia-microservices/client'
import { DELETED_WITHIN, isShort } from './ages.ts'
import { Calls, isCall } from './calls.ts'
import { type Carrier, WITHOUT_LEASES } from './carrier.ts'
import { BACKLOGS, type CarrierName, HOLD_BACK, REDRIVES, RSOCKETS, SOCKETS, storeOf } from './carriers.ts'
import { auditFigures } from './figures.ts'
import { groupsOf, pageOf } from './handlers.ts'
import { Ledger } from './ledger.ts'
import { liesIn } from './log.ts'
import { allowedIn, has, isCalm, LOSING_STORES, timeOfCrashes } from './losses.ts'
import { Operators } from './operators.ts'
import { Pauses } from './pauses.ts'
import type { Plan, Step } from './plan.ts'
import { Probes } from './probes.ts'
import { Services } from './services.ts'
import { type Spells, spellsOf } from './spell.ts'
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
  /** The carrier or store that keeps the events. */
  readonly #store: CarrierName | undefined
  readonly #calls: Calls
  readonly #clients: (Client | undefined)[] = []
  readonly #services: Services
  /** The number of tasks that are going on: steps that wait, and services that end. */
  #running = 0
  /** Times in which the server of the engine is away, stands still, or loses messages. */
  readonly #spells: Spells
  /** Whether something was lost on purpose. */
  #hasLoss = false
  #stalledUntil = 0

  constructor(world: Surroundings, plan: Plan, carrier: Carrier) {
    this.#world = world
    this.#plan = plan
    this.#carrier = carrier
    this.#spells = spellsOf(world, carrier)
    this.#store = storeOf(plan.config)
    const isHeldBack = this.#store !== undefined && HOLD_BACK.has(this.#store)
    this.ledger = new Ledger(() => world.turns, groupsOf(plan.config), isHeldBack, plan.config.maxAge)
    this.#services = new Services(carrier, plan.config, this.ledger, (act) => this.#task(act))
    this.#operators = new Operators(() => this.#newClient(9), this.ledger, this.#store === 'kafka')
    this.#pauses = new Pauses(this.#operators, this.ledger)
    const { suffix, timeout } = plan.config
    this.#calls = new Calls(world, this.ledger, (n) => this.#clients[n], {
      timeout,
      suffix,
      isCalm: isCalm(plan),
      isSlow: plan.steps.some((step) => step.do === 'stall'),
      publishIn: carrier.publishIn,
      hasHeaders: plan.config.carrier !== 'nest',
      mayBeFull: plan.config.maxBytes !== undefined
    })
  }

  async run(): Promise<void> {
    const { config, steps } = this.#plan
    if (timeOfCrashes(this.#plan) > 0) {
      this.#hasLoss = true
      this.ledger.hasLostStore = true
    }
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
    // One that stands still knows nothing new, and there may be others that answer for it.
    await this.#world.pass(() => false, Math.max(0, this.#stalledUntil - this.#world.now))
    await this.#rest()
    this.ledger.auditPeace()
    const { maxAge } = config
    if (isShort(maxAge)) await this.#world.pass(() => false, maxAge + DELETED_WITHIN)
    await this.#probe()
    // In a full store the probes store nothing, and a file is looked at only when it is used.
    if (isShort(maxAge) && config.maxBytes === undefined)
      await this.#until(
        this.ledger.ages.auditStored(this.ledger, this.#carrier),
        CLOSING,
        'the store does not tell what it keeps'
      )
    // Refused events are told to those who are still there, and on Nest's wire events wait for a place.
    await this.#world.pass(() => false, config.carrier === 'nest' ? 60_000 : 1_000)
    this.ledger.auditEvents()
    await auditFigures(this.#world, this.#services.all, this.ledger)
    if (this.#store !== undefined && BACKLOGS.has(this.#store))
      await this.#until(this.#operators.auditBacklog(), CLOSING, 'the backlog was not told')
    // A full store has no room for it.
    if (config.every && this.#isSteady && config.maxBytes === undefined)
      for (const group of this.ledger.groups)
        if (!config.isLate || group === this.ledger.groups[0])
          this.ledger.auditRecurring(group, this.#beganAt, Date.now())
    const { hasGap, wasDeserted } = this.#services
    const happened = { hasGap, wasDeserted, hasLoss: this.#hasLoss, hasHop: this.ledger.hasHop }
    const allowed = allowedIn(this.#plan, { ...happened, isSteady: this.#isSteady })
    await this.#end()
    this.ledger.audit(allowed)
    for (const line of liesIn(this.ledger.log, this.#plan, happened))
      this.ledger.breaks(`the log says what is not true: ${line.slice(0, 300)}`)
    if (this.#world.isExhausted) this.ledger.breaks('the world did not come to rest')
    const left = this.#carrier.left()
    if (left !== '') this.ledger.breaks(`in the end there are ${left}`)
    isPassing()
  }

  #began = 0
  /** The same by the wall clock. */
  #beganAt = 0
  readonly #operators: Operators
  readonly #pauses: Pauses
  /** The ends of clients whose processes have died. */
  readonly #dead: Promise<unknown>[] = []

  /** Lets the world be in peace until nothing waits; dead letters are given back until there are none. */
  async #rest(): Promise<void> {
    const { ages } = this.ledger
    // Events whose processes end by them are given back for long, and those of a clock that jumps have other ages.
    const isUnknown = timeOfCrashes(this.#plan) > 0 || (this.#store === 'sqlite' && this.ledger.hasHop)
    ages.calmFrom = isUnknown ? Infinity : Math.max(this.#world.now, this.#stalledUntil)
    this.#task(() => this.#services.arrive())
    // An event of the future comes by the wall clock, which may have been set back.
    const waits = this.#store === 'postgres' ? 0 : Math.max(0, this.ledger.latestDue - Date.now())
    const end = this.#world.now + PEACE + waits + timeOfCrashes(this.#plan)
    while (this.#world.now < end && !(await this.#world.pass(() => this.#isSettled(), 10_000)))
      if (this.#store !== undefined && REDRIVES.has(this.#store) && this.#isIdle)
        this.#task(() => this.#operators.redrive())
    await this.#world.pass(() => this.#isIdle, 30_000)
    if (this.#running > 0) this.ledger.breaks('in peace a step did not end')
  }

  async #probe(): Promise<void> {
    const { carrier, suffix, maxBytes } = this.#plan.config
    // Kafka soon deletes answers that are minutes old by their time.
    if (carrier === 'kafka' && Math.abs(this.#world.hop) > 60_000) return
    const probes = new Probes(this.ledger, carrier !== 'nest', RSOCKETS.has(carrier), suffix)
    for (const [n, client] of this.#clients.entries())
      if (client !== undefined)
        await this.#until(
          probes.ask(client, n, this.#store !== undefined && maxBytes === undefined),
          PEACE,
          `client ${n} is not served in peace`
        )
    await this.#world.pass(() => probes.isDone, PEACE)
    probes.audit()
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
    await this.#services.begin()
    for (let n = 0; n < config.clients; n++) this.#clients.push(this.#newClient(n))
    this.#began = this.#world.now
    this.#beganAt = Date.now()
  }

  /** Whether nothing happens because of which an event may recur later. */
  get #isSteady(): boolean {
    const isDelayed = this.#hasLoss || this.ledger.hasHop || this.#services.hasGap
    return !isDelayed && !has(this.#plan, 'pause') && this.#plan.config.maxBytes === undefined
  }

  #newClient(n: number): Client {
    const name = `client-${n}`
    const { transport, store } = this.#carrier.client(name)
    return connect({
      transport: transport as StoringTransport,
      store,
      ...(RSOCKETS.has(this.#plan.config.carrier) ? { service: pageOf(this.ledger) } : {}),
      name,
      timeout: this.#plan.config.timeout || false,
      logger: this.ledger.logger,
      onStatus: (event) => {
        if (event.type === 'event-refused')
          this.#refused(n, event.pattern, event.error as { code?: unknown; message: string })
      }
    })
  }

  /** A service has refused an event, and its sender was told. */
  #refused(
    client: number,
    pattern: string,
    error: { readonly code?: unknown; readonly message: string }
  ): void {
    const { carrier, lease } = this.#plan.config
    this.ledger.note(`refused ${pattern}`)
    this.ledger.refused++
    const isUnstored = error.message.includes('cannot store the event')
    const isUnknown = error.code === 'PATTERN_NOT_FOUND'
    if (isUnstored && !this.ledger.hasLostStore && this.#plan.config.maxBytes === undefined)
      this.ledger.breaks('an event was refused although its store was never lost')
    // Its handler may be gone for a time.
    if (isUnstored || (isUnknown && pattern === 'filed' && has(this.#plan, 'deploy'))) return
    // A service that stops handles what was sent to it, and then its clients know.
    if (isUnknown && SOCKETS.has(carrier))
      this.ledger.breaks('an event was refused although its handler was never gone')
    else if (lease && client !== WITHOUT_LEASES)
      this.ledger.breaks('an event was refused although its client waits for leases')
  }

  get #isIdle(): boolean {
    return this.#running === 0 && this.#calls.waiting === 0
  }

  #isSettled(): boolean {
    return this.#isIdle && this.ledger.waiting === 0 && this.ledger.isAllHandled()
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
    const dead = Promise.all([...this.#dead, this.#services.buried()])
    await this.#until(dead, CLOSING, 'what is left of a process that has died did not end')
    if (this.#plan.config.every)
      await this.#until(this.#endRecurring(), CLOSING, 'recurring events did not end')
    const clients = this.#clients.map((client) => client?.close())
    await this.#until(Promise.all(clients), CLOSING, 'the clients did not close')
    await this.#until(this.#services.stop(), CLOSING, 'the services did not stop')
    // Whatever was on its way arrives.
    await this.#world.pass(() => !this.#world.isBusy && this.#world.timers.size === 0, 10_000)
    await this.#world.pass(() => false, 100)
    if (this.#world.timers.size > 0) this.ledger.breaks(`in the end ${this.#world.timers.size} timers run`)
  }

  /** Stops the services, and deletes the next recurring events, which would wait for ever. */
  async #endRecurring(): Promise<void> {
    await this.#services.stop()
    await this.#world.pass(() => Object.values(this.#spells).every(({ isOn }) => !isOn), 10_000)
    await this.#operators.cancelAll()
  }

  #do(step: Step): void {
    this.ledger.note(`step ${step.do} at ${this.#world.now}`)
    if (isCall(step)) this.#calls.make(step)
    else this.#fault(step)
  }

  #fault(step: Step): void {
    if (LOSING_STORES.has(step.do)) this.ledger.hasLostStore = true
    switch (step.do) {
      case 'cut':
        this.#hasLoss = true
        return this.#carrier.cut?.(`client-${step.client}`)
      case 'freeze':
        this.#hasLoss = true
        return this.#carrier.freeze?.(`client-${step.client}`, step.for)
      case 'restart':
        return this.#task(async () => {
          for (let time = 0; time < step.times; time++) await this.#services.restart(step.service, step.for)
        })
      case 'deploy':
        return this.#task(async () => {
          await this.#services.restart(step.service, 0, step.options)
          if (this.#store === undefined || step.options.files) return
          await wait(step.for)
          await this.#services.restart(step.service, 0)
        })
      case 'hop':
        this.#world.hop += step.by
        this.ledger.hasHop = true
        return
      case 'join':
        return this.#task(() => this.#services.join())
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
      case 'still':
      case 'mute':
        this.#hasLoss = true
        return this.#spells[step.do].lasts(step.for)
      case 'stall':
        this.#hasLoss = true
        this.#stalledUntil = Math.max(this.#stalledUntil, this.#world.now + step.for)
        return this.#carrier.stall?.(`${step.end}-${step.n}`, step.for)
      case 'lose':
        this.#hasLoss = true
        return this.#task(async () => {
          for (let time = 0; time < step.times; time++) {
            this.#carrier.lose?.(`${step.end}-${step.n}`, step.for)
            await wait(step.for + BETWEEN)
          }
        })
      case 'arrive':
        return this.#task(() => this.#services.arrive())
      case 'kill':
        if (this.#services.kill(step.service, step.for)) this.#hasLoss = true
        return
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
        this.#services.hasGap = true
        if (client === undefined) return
        this.#clients[step.client] = undefined
        return this.#task(async () => {
          await client.close()
          this.#clients[step.client] = this.#newClient(step.client)
        })
      }
    }
  }

  /** The process with all services and clients ends. */
  #die(): void {
    this.#carrier.die?.()
    for (const [n, client] of this.#clients.entries()) {
      if (client === undefined) continue
      this.#dead.push(client.close())
      this.#clients[n] = this.#newClient(n)
    }
    this.#services.die()
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

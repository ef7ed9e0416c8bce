/** One life: services and clients are made, the steps of a plan happen, and in the end all promises are looked at. */

import { forgetQueues } from '@elysia-microservices/rsocket/testing'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type StoringTransport, type UntypedStoringClient } from 'elysia-microservices/client'
import { interval, map, range, take } from 'rxjs'
import { type Carrier, carrierOf } from './carrier.ts'
import { Ledger } from './ledger.ts'
import { ENGINES, type Plan, REDRIVES, STORES, type Step } from './plan.ts'
import type { World } from './world.ts'

/** Milliseconds in peace after which nothing may wait any more. */
const PEACE = 130_000
/** Milliseconds that closing may take. */
const CLOSING = 60_000

/** Attempts after which a durable event is a dead letter, if dead letters can be given back. */
const ATTEMPTS = 3

const wait = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds))

export interface Verdict {
  readonly broken: readonly string[]
  readonly hash: number
  readonly turns: number
  /** Milliseconds that passed in the world. */
  readonly time: number
  readonly calls: number
  readonly log: readonly string[]
}

/** Lives a plan. @param seed decides the order of what is due at the same moment */
export async function live(world: World, plan: Plan, seed: number): Promise<Verdict> {
  forgetQueues()
  world.begin(seed)
  const life = new Life(world, plan)
  await life.run()
  const { ledger } = life
  return {
    broken: ledger.broken,
    hash: ledger.hash,
    turns: world.turns,
    time: world.now,
    calls: ledger.calls.size,
    log: ledger.log
  }
}

interface Payload {
  readonly id: string
  readonly takes: number
  readonly values: number
  readonly order: number
  readonly key: string
  readonly failures: number
}

type Client = UntypedStoringClient
type Service = ReturnType<Life['newService']>

class Life {
  readonly ledger: Ledger
  readonly #world: World
  readonly #plan: Plan
  readonly #carrier: Carrier
  readonly #clients: (Client | undefined)[] = []
  readonly #services: (Service | undefined)[] = []
  /** The number of tasks that are going on: steps that wait, and services that end. */
  #running = 0
  #ids = 0
  #orders = 0
  #isAway = 0
  #isStill = 0
  #isPaused = 0
  /** Whether something was lost on purpose. */
  #hasFault = false

  constructor(world: World, plan: Plan) {
    this.#world = world
    this.#plan = plan
    this.ledger = new Ledger(() => world.turns)
    this.#carrier = carrierOf(plan.config, world)
  }

  async run(): Promise<void> {
    const { config, steps } = this.#plan
    const isPassing = this.#watched()
    await this.#until(this.#begin(), 10_000, 'the services did not begin to listen')
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
    await this.#world.pass(() => this.#running === 0, 30_000)
    await this.#rest()
    // Refused events are told to those who are still there, and on Nest's wire events wait for a place.
    await this.#world.pass(() => false, config.carrier === 'nest' ? 60_000 : 1_000)
    const hasLoss = this.#hasFault && config.carrier !== 'memory'
    await this.#end()
    this.ledger.audit({
      mayLose: hasLoss && !this.#isPromisedToArrive(),
      mayRepeat: hasLoss && ENGINES.has(config.carrier)
    })
    if (this.#world.isExhausted) this.ledger.breaks('the world did not come to rest')
    const left = this.#carrier.left()
    if (left !== '') this.ledger.breaks(`in the end there are ${left}`)
    isPassing()
  }

  #began = 0

  /** Lets the world be in peace until nothing waits; dead letters are given back until there are none. */
  async #rest(): Promise<void> {
    const end = this.#world.now + PEACE
    while (this.#world.now < end && !(await this.#world.pass(() => this.#isSettled(), 10_000)))
      if (REDRIVES.has(this.#plan.config.carrier) && this.#running === 0) this.#task(() => this.#redrive())
    await this.#world.pass(() => this.#running === 0, 30_000)
  }

  #isPromisedToArrive(): boolean {
    const { carrier, resume } = this.#plan.config
    return carrier === 'rsocket' && resume && !this.#plan.steps.some((step) => LOSING.has(step.do))
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
      const service = this.newService(n)
      this.#services.push(service)
      await service.listen()
    }
    for (let n = 0; n < config.clients; n++) this.#clients.push(this.#newClient(n))
    this.#began = this.#world.now
  }

  #newClient(n: number): Client {
    const name = `client-${n}`
    return connect({
      transport: this.#carrier.client(name) as StoringTransport,
      name,
      timeout: this.#plan.config.timeout,
      logger: this.#logger,
      onStatus: (event) => {
        if (event.type !== 'event-refused') return
        this.ledger.note(`refused ${event.pattern}`)
        this.ledger.refused++
      }
    })
  }

  get #logger() {
    const write = (line: string) => this.ledger.logged(line)
    return { error: write, warn: write }
  }

  newService(n: number) {
    const { ledger } = this
    const { config } = this.#plan
    const service = microservice({
      name: 'world',
      transport: this.#carrier.service(`service-${n}`),
      logger: this.#logger
    })
      .message('echo', ({ data }: Message<Payload>) => {
        ledger.ran(data.id)
        return data.id
      })
      .message('wait', async ({ data }: Message<Payload>) => {
        ledger.ran(data.id)
        await wait(data.takes)
        return data.id
      })
      .message('fail', async ({ data }: Message<Payload>) => {
        ledger.ran(data.id)
        if (data.takes > 10) await wait(data.takes)
        throw new TypeError('A handler of the test has failed')
      })
      .message('never', ({ data, signal }: Message<Payload>) => {
        ledger.ran(data.id)
        return new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        )
      })
      // It does not look at its signal: the sink that takes its values must stop.
      .message('count', function* ({ data }: Message<Payload>) {
        ledger.ran(data.id)
        for (let n = 0; n < data.values; n++) {
          if (!ledger.pulls('a generator')) return
          yield n
        }
      })
      .message('ticks', async function* ({ data, signal }: Message<Payload>) {
        ledger.ran(data.id)
        for (let n = 0; n < Math.min(data.values, 500) && !signal.aborted; n++) {
          if (data.takes > 0 || n % 50 === 0) await wait(data.takes)
          if (!ledger.pulls('an async generator')) return
          yield n
        }
      })
      .message('observable', ({ data }: Message<Payload>) => {
        ledger.ran(data.id)
        const values = Math.min(data.values, 200)
        return data.takes > 0 ? interval(data.takes).pipe(take(values)) : range(0, values).pipe(map((n) => n))
      })
      .message('total', async ({ data }: Message<AsyncIterable<{ id: string; n: number }>>) => {
        let values = 0
        for await (const { id, n } of data) {
          if (values === 0) ledger.ran(id)
          if (n !== values) ledger.breaks(`channel ${id} has received ${n} in place of ${values}`)
          values++
        }
        return values
      })
      .message('relay', async function* ({ data }: Message<AsyncIterable<{ id: string; n: number }>>) {
        let values = 0
        for await (const { id, n } of data) {
          if (values === 0) ledger.ran(id)
          if (n !== values) ledger.breaks(`channel ${id} has received ${n} in place of ${values}`)
          values++
          yield n
        }
      })
      .event('noted', async ({ data }: Message<Payload>) => {
        ledger.note(`noted ${data?.id}`)
        const one = ledger.emitted.get(data?.id)
        if (one !== undefined) one.done++
        if (data?.takes > 0) await wait(data.takes)
      })
    if (!STORES.has(config.carrier)) return service
    return service.event(
      'kept',
      async ({ data, delivery }: Message<Payload>) => {
        const { attempt = 1 } = delivery ?? {}
        const runs = ledger.begins(data.id, attempt, config.ordered)
        if (data.takes > 0) await wait(data.takes)
        if (runs <= data.failures) throw new RangeError('A durable handler of the test has failed')
        const kept = ledger.published.get(data.id)
        if (kept !== undefined) kept.done++
        ledger.note(`kept ${data.id}`)
      },
      {
        durable: {
          ordered: config.ordered,
          start: config.carrier === 'rabbitmq' ? 'new' : 'all',
          retry: { attempts: REDRIVES.has(config.carrier) ? ATTEMPTS : 20, minDelay: 50, maxDelay: 1_000 }
        }
      }
    )
  }

  #isSettled(): boolean {
    const { calls, published } = this.ledger
    if (this.#running > 0) return false
    for (const call of calls.values()) if (call.settled === 0) return false
    for (const one of published.values()) if (one.isPromised && one.done === 0) return false
    return true
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
    const clients = this.#clients.map((client) => client?.close())
    await this.#until(Promise.all(clients), CLOSING, 'the clients did not close')
    const services = this.#services.map((service) => service?.stop())
    await this.#until(Promise.all(services), CLOSING, 'the services did not stop')
    // Whatever was on its way arrives.
    await this.#world.pass(() => !this.#world.isBusy && this.#world.timers.size === 0, 10_000)
    await this.#world.pass(() => false, 100)
    if (this.#world.timers.size > 0) this.ledger.breaks(`in the end ${this.#world.timers.size} timers run`)
  }

  #do(step: Step): void {
    this.ledger.note(`step ${step.do} at ${this.#world.now}`)
    switch (step.do) {
      case 'request':
        for (let n = 0; n < step.times; n++) this.#request(step)
        return
      case 'stream':
        return this.#stream(step)
      case 'channel':
        return this.#channel(step)
      case 'emit':
        for (let n = 0; n < step.times; n++) this.#emit(step)
        return
      case 'publish':
        for (let n = 0; n < step.times; n++) this.#publish(step)
        return
      default:
        return this.#fault(step)
    }
  }

  #fault(step: Step): void {
    switch (step.do) {
      case 'cut':
        this.#hasFault = true
        return this.#carrier.cut?.(`client-${step.client}`)
      case 'freeze':
        this.#hasFault = true
        return this.#carrier.freeze?.(`client-${step.client}`, step.for)
      case 'restart':
        return this.#task(async () => {
          const service = this.#services[step.service]
          if (service === undefined) return
          this.#hasFault = true
          this.#services[step.service] = undefined
          await service.stop()
          await wait(step.for)
          await this.#join(step.service)
        })
      case 'join':
        return this.#task(() => this.#join(this.#services.push(undefined) - 1))
      case 'redrive':
        return this.#task(() => this.#redrive())
      case 'pause':
        return this.#task(async () => {
          const client = this.#newClient(9)
          this.#isPaused++
          await this.#group(client, true)
          await wait(step.for)
          if (--this.#isPaused === 0) await this.#group(client, false)
          await client.close()
        })
      case 'away':
        this.#hasFault = true
        if (this.#isAway++ === 0) this.#carrier.stop?.()
        return void this.#world.after(step.for, () => {
          if (--this.#isAway === 0) this.#carrier.start?.()
        })
      case 'still':
        this.#hasFault = true
        if (this.#isStill++ === 0) this.#carrier.suspend?.()
        return void this.#world.after(step.for, () => {
          if (--this.#isStill === 0) this.#carrier.resume?.()
        })
      case 'lose':
        this.#hasFault = true
        return this.#carrier.lose?.(`${step.end}-${step.n}`, step.for)
      case 'stranger':
        return this.#carrier.stranger?.(Uint8Array.from(step.bytes))
      case 'close': {
        const client = this.#clients[step.client]
        this.#hasFault = true
        if (client === undefined) return
        this.#clients[step.client] = undefined
        return this.#task(async () => {
          await client.close()
          this.#clients[step.client] = this.#newClient(step.client)
        })
      }
    }
  }

  /** Pauses or resumes the group, again and again if the engine is away. */
  async #group(client: Client, isPaused: boolean): Promise<void> {
    for (;;) {
      try {
        return await pausing(client, 'world', isPaused)
      } catch {
        await wait(500)
      }
    }
  }

  /** Gives all dead letters back to their group; if the engine is away, another time will do. */
  async #redrive(): Promise<void> {
    const client = this.#newClient(9)
    const letters = client.group('world').deadLetters
    try {
      for await (const { id, position } of letters.list()) {
        const kept = this.ledger.published.get(id)
        if (kept?.begun === 0) this.ledger.breaks(`${kept.what} is a dead letter and was never handled`)
        await letters.redrive(position)
      }
    } catch (error) {
      this.ledger.note(`redrive: ${(error as Error).name}`)
    }
    await client.close()
  }

  async #join(at: number): Promise<void> {
    const service = this.newService(at)
    for (let attempt = 0; attempt < 30; attempt++)
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

  #id(what: string): string {
    return `${what}-${++this.#ids}`
  }

  #payload(id: string, parts: Partial<Payload> = {}): Payload {
    return { id, takes: 0, values: 0, order: 0, key: '', failures: 0, ...parts }
  }

  #request(step: Step & { do: 'request' }): void {
    const client = this.#clients[step.client]
    if (client === undefined) return
    const id = this.#id(step.work)
    this.ledger.calling(id, `request ${id}`, step.idempotent)
    const abort = new AbortController()
    const isNever = step.work === 'never' && this.#plan.config.timeout === 0
    const after = step.abort > 0 ? step.abort : isNever ? 2_000 : 0
    if (after > 0) this.#world.after(after, () => abort.abort())
    client
      .request(step.work, this.#payload(id, { takes: step.takes }), {
        signal: abort.signal,
        idempotent: step.idempotent
      })
      .then(
        (answer) => {
          if (answer !== id) this.ledger.breaks(`request ${id} was answered with ${String(answer)}`)
          this.ledger.settled(id, 'answered')
        },
        (error) => this.ledger.settled(id, `failed ${error?.code}`, error)
      )
  }

  #stream(step: Step & { do: 'stream' }): void {
    const client = this.#clients[step.client]
    if (client === undefined) return
    const id = this.#id(step.source)
    this.ledger.calling(id, `stream ${id}`)
    const payload = this.#payload(id, {
      values: step.values,
      takes: step.source === 'count' ? 0 : step.pause
    })
    const read = async () => {
      let values = 0
      for await (const value of client.stream(step.source, payload)) {
        if (value !== values) this.ledger.breaks(`stream ${id} gave ${String(value)} in place of ${values}`)
        if (++values >= step.take) return 'left'
        if (step.pause > 0) await wait(step.pause)
      }
      const most = step.source === 'ticks' ? 500 : step.source === 'observable' ? 200 : Infinity
      if (values < Math.min(step.values, most))
        this.ledger.breaks(`stream ${id} ended after ${values} of ${step.values} values`)
      return 'ended'
    }
    read().then(
      (outcome) => this.ledger.settled(id, outcome),
      (error) => this.ledger.settled(id, `failed ${error?.code}`, error)
    )
  }

  #channel(step: Step & { do: 'channel' }): void {
    const client = this.#clients[step.client]
    if (client === undefined) return
    const id = this.#id(step.to)
    const { ledger } = this
    ledger.calling(id, `channel ${id}`)
    async function* values() {
      for (let n = 0; n < step.values; n++) {
        if (step.pause > 0) await wait(step.pause)
        if (!ledger.pulls('the input of a channel')) return
        yield { id, n }
      }
    }
    const call = async () => {
      let received = 0
      if (step.to === 'total') received = await client.request<number>('total', values(), { timeout: 60_000 })
      else
        for await (const value of client.stream('relay', values())) {
          if (value !== received) ledger.breaks(`channel ${id} gave ${String(value)} in place of ${received}`)
          received++
        }
      if (received !== step.values) ledger.breaks(`channel ${id} gave ${received} of ${step.values} values`)
      // A channel without values is not told apart by its handler.
      if (step.values === 0) ledger.ran(id)
    }
    call().then(
      () => ledger.settled(id, 'ended'),
      (error) => ledger.settled(id, `failed ${error?.code}`, error)
    )
  }

  #emit(step: Step & { do: 'emit' }): void {
    const client = this.#clients[step.client]
    if (client === undefined) return
    const id = this.#id('emit')
    const kept = this.ledger.keeps(this.ledger.emitted, id, `event ${id}`, '', 0)
    this.#kept(kept, client.emit('noted', this.#payload(id, { takes: step.takes })))
  }

  #publish(step: Step & { do: 'publish' }): void {
    const client = this.#clients[step.client]
    if (client === undefined) return
    const id = this.#id('publish')
    const order = ++this.#orders
    // Order is a promise to one publisher, so each has keys of its own.
    const key = `key-${step.client}-${order % step.keys}`
    const kept = this.ledger.keeps(this.ledger.published, id, `event ${id}`, key, order)
    const data = this.#payload(id, { takes: step.takes, failures: step.failures, order, key })
    this.#kept(kept, client.publish('kept', data, { id, key }))
  }

  #kept(kept: ReturnType<Ledger['keeps']>, promise: Promise<unknown>): void {
    this.#running++
    promise.then(
      () => {
        this.#running--
        this.ledger.promised(kept)
      },
      (error) => {
        this.#running--
        this.ledger.promised(kept, error)
      }
    )
  }
}

/** Steps after which an event may be lost although its connection is resumed. */
const LOSING = new Set<Step['do']>(['restart', 'close', 'stranger', 'freeze'])

async function pausing(client: Client, group: string, isPaused: boolean): Promise<void> {
  await (isPaused ? client.group(group).pause() : client.group(group).resume())
}

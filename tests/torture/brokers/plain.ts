/**
 * Durable events without any fault: services join, leave and change their options, groups are paused and resumed, dead
 * letters are redriven, all at once, under load. Every event is counted by its id, in every group: none may be lost,
 * run twice or wait for ever, and ordered groups keep the order of each key.
 */
import { PATIENCE, pause, randomFrom, within } from '@elysia-microservices/test-support'
import { type DurableOptions, type Message, microservice, type Transport } from 'elysia-microservices'
import { connect, type StoringTransport, type UntypedStoringClient } from 'elysia-microservices/client'
import { ownFolder } from '../../support/own-folder.ts'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { settled } from './durable.ts'
import type { Broker } from './engine.ts'
import { tortured } from './engines/all.ts'

const PATTERN = 'plain.event'
const KEYS = 8
/** Every so many events, the group `redriven` fails until its handler is repaired. */
const FAILS_EVERY = 97
const LOG = { error() {}, warn() {} }
const SECONDS = { short: 4, long: 60 } as const

interface Event {
  readonly n: number
  readonly key: string
}

type Service = Awaited<ReturnType<typeof serve>>

/** A group of handlers, whose services come and go. */
class Group {
  readonly name: string
  readonly isOrdered: boolean
  readonly services: Service[] = []
  /** The number of successful runs of each event. */
  readonly done = new Map<number, number>()
  /** Sentences about events that began before an earlier event of their key was done. */
  readonly disorder: string[] = []
  readonly #latest = new Map<string, number>()
  #isRepaired: boolean

  constructor(name: string, isOrdered: boolean, isRepaired = true) {
    this.name = name
    this.isOrdered = isOrdered
    this.#isRepaired = isRepaired
  }

  repair(): void {
    this.#isRepaired = true
  }

  async handle({ n, key }: Event): Promise<void> {
    if (!this.#isRepaired && n % FAILS_EVERY === 0) throw new Error(`${n} is not possible yet`)
    const before = this.#latest.get(key) ?? -1
    if (this.isOrdered && n < before && !this.done.has(n))
      this.disorder.push(`${this.name}: ${n} of '${key}' came after ${before}`)
    this.#latest.set(key, Math.max(n, before))
    await pause(n % 13 === 0 ? 20 : n % 4)
    this.done.set(n, (this.done.get(n) ?? 0) + 1)
  }
}

async function serve(transport: Transport, group: Group, durable: DurableOptions) {
  const service = microservice({ name: group.name, transport, logger: LOG, drain: 30_000 }).event(
    PATTERN,
    ({ data }: Message<Event>) => group.handle(data),
    { durable }
  )
  await service.listen()
  return service
}

/** Everything that moves in a run. */
class World {
  readonly client: UntypedStoringClient
  readonly groups = [
    new Group('steady', false),
    new Group('shared', true),
    new Group('changing', false),
    new Group('paused', true),
    new Group('redriven', false, false)
  ]
  /** The number of acts, by their name. */
  readonly acts = new Map<string, number>()
  readonly #transport: () => Transport
  readonly #random: () => number
  readonly #redrives: boolean
  #isPaused = false

  constructor(transport: () => Transport, random: () => number) {
    this.#transport = transport
    // Where dead letters cannot be listed, nothing fails.
    this.#redrives = transport().traits.stores?.browses === true
    if (!this.#redrives) this.groups.at(-1)?.repair()
    this.#random = random
    this.client = connect({ transport: transport() as StoringTransport, logger: LOG, timeout: 60_000 })
  }

  async start(): Promise<void> {
    for (const group of this.groups) await this.join(group)
    await this.client.connect()
  }

  async join(group: Group): Promise<void> {
    const concurrency = 1 + Math.floor(this.#random() * 8)
    const attempts = group.name === 'changing' ? 2 + Math.floor(this.#random() * 4) : 2
    const options = { ordered: group.isOrdered, concurrency, retry: { attempts, minDelay: 50 } }
    group.services.push(await serve(this.#transport(), group, options))
  }

  /** Does one thing at random, which must not lose, double or hold up any event. */
  async act(): Promise<void> {
    const [, shared, changing, paused, redriven] = this.groups as [Group, Group, Group, Group, Group]
    const coming = this.#random() < 0.5 ? shared : changing
    const acts: Readonly<Record<string, () => Promise<unknown>>> = {
      join: async () => coming.services.length < 4 && this.join(coming),
      leave: async () => coming.services.shift()?.stop(),
      replace: async () => {
        await this.join(coming)
        await coming.services.shift()?.stop()
      },
      pause: () => this.#pause(paused),
      redrive: () => this.redrive(redriven)
    }
    const names = Object.keys(acts)
    const name = names[Math.floor(this.#random() * names.length)] as string
    await acts[name]?.()
    this.acts.set(name, (this.acts.get(name) ?? 0) + 1)
  }

  async #pause({ name }: Group): Promise<void> {
    if (this.#isPaused) await this.client.group(name).resume()
    else await this.client.group(name).pause()
    this.#isPaused = !this.#isPaused
  }

  /** Redrives all dead letters of a group. @returns how many */
  async redrive({ name }: Group): Promise<number> {
    if (!this.#redrives) return 0
    const letters = this.client.group(name).deadLetters
    const positions: string[] = []
    for await (const { position } of letters.list()) positions.push(position)
    for (const position of positions) await letters.redrive(position)
    return positions.length
  }

  /** Leaves the world in peace: every group has a service, none is paused, and nothing fails any more. */
  async rest(): Promise<void> {
    const redriven = this.groups.at(-1) as Group
    redriven.repair()
    if (this.#isPaused) await this.#pause(this.groups[3] as Group)
    for (const group of this.groups) if (group.services.length === 0) await this.join(group)
  }

  async end(): Promise<void> {
    await this.client.close()
    for (const { services } of this.groups) for (const service of services) await service.stop()
  }
}

async function run(broker: Broker, { length, progress }: Circumstances): Promise<readonly Row[]> {
  const servers = await broker.start(1, ownFolder('plain-torture'))
  const seed = Date.now() % 1_000_000
  const random = randomFrom(seed)
  const transport = () => broker.transport(servers.map(({ url }) => url))
  const knowsIds = transport().traits.stores?.once === true
  const world = new World(transport, random)
  let isOver = false
  let begun = 0
  const failures = new Set<string>()
  try {
    await world.start()
    const publishing = (async () => {
      const window = new Set<Promise<unknown>>()
      while (!isOver) {
        const n = begun++
        const key = `k${Math.floor(random() * KEYS)}`
        const one = world.client
          .publish(PATTERN, { n, key }, { key, ...(knowsIds && { id: `plain${n}` }) })
          .catch((error: Error) => {
            failures.add(error.message)
          })
        window.add(one)
        void one.finally(() => window.delete(one))
        if (window.size >= 32) await Promise.race(window)
        // Some 600 a second: five groups must handle them all in one process.
        if (n % 8 === 0) await pause(12)
      }
      await Promise.all(window)
    })()
    const end = performance.now() + SECONDS[length] * 1_000
    while (performance.now() < end) {
      await pause(100 + random() * 400)
      await within(world.act(), 'An act of an operator', 2 * PATIENCE)
      progress(`${begun} events, ${[...world.acts.values()].reduce((sum, times) => sum + times, 0)} acts`)
    }
    isOver = true
    await within(publishing, 'All is published', 300_000)
    await world.rest()
    const redriven = world.groups.at(-1) as Group
    const left = () => world.groups.reduce((sum, { done }) => sum + begun - done.size, 0)
    const redriving = setInterval(() => void world.redrive(redriven).catch(() => {}), 1_000)
    const hung = await settled(left, PATIENCE)
    clearInterval(redriving)
    // An event that runs a second time would do so now.
    await pause(2_000)
    return [rowOf(broker, world, { begun, hung, seed, failures })]
  } finally {
    isOver = true
    await world.end()
    for (const server of servers) await server.stop()
  }
}

function rowOf(
  { title }: Broker,
  { groups, acts }: World,
  {
    begun,
    hung,
    seed,
    failures
  }: {
    readonly begun: number
    readonly hung: number
    readonly seed: number
    readonly failures: ReadonlySet<string>
  }
): Row {
  const runs = groups.flatMap(({ done }) => [...done.values()])
  const doubled = runs.reduce((sum, times) => sum + times - 1, 0)
  const broken = groups.flatMap(({ disorder }) => disorder.slice(0, 3))
  for (const { name, done } of groups)
    if (done.size < begun) broken.push(`${begun - done.size} of ${begun} events wait in the group '${name}'`)
  if (doubled > 0) broken.push(`${doubled} events ran twice, though nothing was killed`)
  if (failures.size > 0) broken.push(`Events could not be published: ${[...failures].slice(0, 3).join('; ')}`)
  const did = [...acts].map(([name, times]) => `${times} × ${name}`).join(', ')
  return {
    scenario: `durable events over ${title} without a fault: services join, leave and change, pauses, redriving`,
    server: 'ours',
    faults: 0,
    requests: begun * groups.length,
    succeeded: runs.length,
    failed: 0,
    lost: 0,
    doubled,
    hung,
    remark: `${begun} events in ${groups.length} groups; ${did}; seed ${seed}`,
    broken
  }
}

/** The first rows of the table: load without any fault. */
export const plainEvents: readonly Scenario[] = tortured('durable events without a fault')
  .filter(({ storesNothing, hasCluster }) => storesNothing !== true && hasCluster !== 'only')
  .map((broker) => ({
    name: `${broker.name}-events-plain`,
    run: (circumstances) => run(broker, circumstances)
  }))

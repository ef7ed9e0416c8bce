/** Durable events over each engine: consumers are killed, the server is, poison is among them. Nothing may be lost. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { ServerProcess } from '../../support/server-process.ts'
import { PATIENCE, pause, until, within } from '../../support/within.ts'
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { floodOfEvents } from './durable-flood.ts'
import { addPartitions, type Broker, type BrokerServer, tortured } from './engine.ts'

const PATTERN = 'torture.event'

interface Plan {
  readonly title: string
  /** At least; more are published as long as there are faults. */
  readonly events: number
  readonly keys: number
  readonly processes: number
  /** Servers; several are a cluster in which each has a copy. Default: 1. */
  readonly nodes?: number
  readonly isOrdered: boolean
  readonly faults: number
  /** Events that always fail, each behind some others of other keys. */
  readonly poison?: number
  /** Events that always fail, in front of all others: each of a key of its own, so that every partition begins with some. */
  readonly poisonFirst?: number
  /** Whether a run of an event that had ended well is broken: where nothing was killed. */
  readonly isOnce?: boolean
  /** Milliseconds that a handler takes; then no more than `events` are published. Default: up to 4, by chance. */
  readonly takes?: number
  fault(setting: Setting, n: number): Promise<void>
}

/** A server, processes that handle, and a client that publishes. */
class Setting {
  readonly folder = mkdtempSync(join(tmpdir(), 'durable-torture-'))
  readonly path = join(this.folder, 'runs')
  readonly broker: Broker
  readonly servers: readonly BrokerServer[]
  readonly services: readonly ServerProcess[]
  readonly client: UntypedClient
  /** Events whose publishing has begun: those below this number. */
  begun = 0
  /** Events that were stored and not done when their stream was deleted: they may have been deleted with it. */
  readonly deleted = new Set<number>()

  private constructor(
    broker: Broker,
    servers: readonly BrokerServer[],
    { processes, isOrdered, takes = 0 }: Plan
  ) {
    this.broker = broker
    this.servers = servers
    const urls = servers.map(({ url }) => url)
    const replicas = servers.length
    writeFileSync(this.path, '')
    this.services = Array.from(
      { length: processes },
      () =>
        new ServerProcess({
          program: 'torture/brokers/durable-service',
          arguments: () => [
            urls.join(','),
            this.path,
            isOrdered ? 'ordered' : 'any',
            String(replicas),
            String(takes)
          ]
        })
    )
    this.client = connect({
      transport: broker.transport(urls, { replicas }),
      timeout: 60_000,
      logger: { error() {}, warn() {} }
    })
  }

  static async start(plan: Plan, broker: Broker): Promise<Setting> {
    const store = mkdtempSync(join(tmpdir(), 'durable-store-'))
    process.once('exit', () => rmSync(store, { recursive: true, force: true }))
    const { nodes = 1 } = plan
    const setting = new Setting(broker, await broker.start(nodes, store), plan)
    await setting.client.connect()
    const start = () => Promise.all(setting.services.map((service) => service.start()))
    // Without a log, events are stored for groups that are there.
    if (!broker.hasLog) await start()
    // A cluster elects who keeps its streams first; then the stream is there for all services.
    await setting.client.publish(PATTERN, -1, { key: 'first' })
    if (broker.hasLog) await start()
    await pause(broker.settlesIn ?? 0)
    return setting
  }

  /** What handlers have done, line by line. */
  get lines(): { readonly what: string; readonly key: string; readonly n: number }[] {
    const lines = readFileSync(this.path, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => {
      const [what = '', key = '', n] = line.split(' ')
      return { what, key, n: Number(n) }
    })
  }

  /** Numbers of the events that have ended well. */
  get done(): Set<number> {
    return new Set(this.lines.filter(({ what, n }) => what === 'done' && n >= 0).map(({ n }) => n))
  }

  /** Deleted events that nobody has run. */
  get gone(): number {
    const { done } = this
    return [...this.deleted].filter((n) => !done.has(n)).length
  }

  async end(): Promise<void> {
    await this.client.close().catch(() => {})
    await Promise.allSettled(this.services.map((service) => service.stop('SIGKILL')))
    await Promise.allSettled(this.servers.map((server) => server.stop()))
    rmSync(this.folder, { recursive: true, force: true })
  }
}

async function run(plan: Plan, broker: Broker, { progress }: Circumstances): Promise<readonly Row[]> {
  const setting = await Setting.start(plan, broker)
  try {
    const { events, keys, faults, poison = 0, poisonFirst = 0, takes = 0 } = plan
    let failed = 0
    let published = 0
    const failures = new Set<string>()
    let hasFaults = true
    const every = poison === 0 ? Number.POSITIVE_INFINITY : Math.floor(events / poison)
    const publishing = (async () => {
      const window = new Set<Promise<unknown>>()
      for (let n = 0; n < events || (hasFaults && takes === 0); n++) {
        setting.begun++
        const isPoison = n % every === every - 1
        const key = n < poisonFirst ? `poison${n}` : isPoison ? 'poison' : `k${n % keys}`
        const one = setting.client.publish(PATTERN, n, { key }).then(
          () => void published++,
          (error: Error) => {
            failed++
            failures.add(error.message)
          }
        )
        window.add(one)
        void one.finally(() => window.delete(one))
        if (window.size >= 64) await Promise.race(window)
        // Some 4,000/s: what is behind the faults must be worked off, too.
        if (n % 16 === 0) await pause(4)
      }
      await Promise.all(window)
    })()
    for (let n = 1; n <= faults; n++) {
      await pause(100 + Math.random() * 300)
      await plan.fault(setting, n)
      progress(`${n} of ${faults} faults, ${published} events published`)
    }
    hasFaults = false
    await within(publishing, 'All is published', 300_000)
    const { begun } = setting
    const healthy = () => setting.done.size + setting.gone
    const [server] = setting.servers
    const letters = () => broker.countDeadLetters(setting.client, server?.url ?? '')
    const poisoned = poisonFirst + (Number.isFinite(every) ? Math.floor(begun / every) : 0)
    const hung = await settled(() => begun - failed - poisoned - healthy(), PATIENCE + takes)
    await until('The poisoned ones are dead letters', async () => (await letters()) >= poisoned).catch(
      () => {}
    )
    return [
      rowOf(plan, setting, [...failures], { events: begun, failed, poisoned, dead: await letters(), hung })
    ]
  } finally {
    await setting.end()
  }
}

/** Waits until nothing is left, or nothing has changed for so long. @returns what is left */
async function settled(left: () => number, patience: number): Promise<number> {
  let now = left()
  for (let changedAt = performance.now(); now > 0 && performance.now() - changedAt < patience; ) {
    await pause(50)
    const before = now
    now = left()
    if (now !== before) changedAt = performance.now()
  }
  return now
}

function rowOf(
  { title, faults, isOrdered, isOnce = false }: Plan,
  { lines, gone, deleted, broker, servers }: Setting,
  failures: readonly string[],
  {
    events,
    failed,
    poisoned,
    dead,
    hung
  }: Readonly<Record<'events' | 'failed' | 'poisoned' | 'dead' | 'hung', number>>
): Row {
  const done = new Map<number, number>()
  for (const { what, n } of lines) if (what === 'done' && n >= 0) done.set(n, (done.get(n) ?? 0) + 1)
  const again = [...done.values()].reduce((sum, times) => sum + times - 1, 0)
  const broken: string[] = []
  if (failed > 0) broken.push(`${failed} events could not be published: ${failures.join('; ')}`)
  const knowsIds = broker.transport(servers.map(({ url }) => url)).traits?.stores?.once === true
  // Killed between its dead letter and its acknowledgement, an event becomes one again where the engine knows no ids.
  if (knowsIds ? dead !== poisoned : dead < poisoned)
    broken.push(`${dead} dead letters of ${poisoned} poisoned events`)
  if (isOnce && again > 0) broken.push(`${again} events ran twice, though nothing was killed`)
  if (isOrdered) broken.push(...disorder(lines))
  return {
    scenario: titleOver(broker, title),
    server: 'ours',
    ...{
      faults,
      requests: events,
      succeeded: done.size + dead + gone,
      failed,
      hung,
      lost: 0,
      doubled: isOnce ? again : 0
    },
    remark: `${again} ran twice, as at least once allows${deleted.size === 0 ? '' : `; ${gone} were deleted with the stream before they had been handled`}`,
    broken
  }
}

/** Titles name NATS, or nobody. */
function titleOver({ name, title: engine }: Broker, title: string): string {
  if (name === 'nats') return title
  return title.replace('durable events', `durable events over ${engine}`).replaceAll('NATS', engine)
}

/** In words, where the first run of an event came before the end of one of its key that was published before it. */
function disorder(lines: Setting['lines']): string[] {
  const broken: string[] = []
  const byKey = new Map<string, { done: number; begun: number }>()
  for (const { what, key, n } of lines) {
    if (key.startsWith('poison') || key === 'first') continue
    const state = byKey.get(key) ?? { done: -1, begun: -1 }
    byKey.set(key, state)
    if (what === 'run' && n > state.begun) {
      if (state.begun > state.done) broken.push(`${n} of '${key}' began before the end of ${state.begun}`)
      state.begun = n
    }
    if (what === 'done') state.done = Math.max(state.done, n)
  }
  return broken.slice(0, 5)
}

async function killConsumer({ services }: Setting, n: number): Promise<void> {
  const service = services[n % services.length] as ServerProcess
  await service.stop('SIGKILL')
  await service.start()
}

async function killServer({ servers, broker }: Setting, n: number): Promise<void> {
  const server = servers[n % servers.length] as BrokerServer
  await server.stop()
  await pause(Math.random() * 300)
  await server.start()
  // One that is killed before anybody has found it again stores nothing, and shows nothing.
  await pause(broker.settlesIn ?? 0)
}

async function restartConsumer({ services }: Setting, n: number): Promise<void> {
  const service = services[n % services.length] as ServerProcess
  await within(service.stop('SIGTERM'), 'The service ends after SIGTERM')
  await service.start()
}

/** As an operator does it: of the whole stream, or of the consumer of the group. */
function deleteAt({ servers, broker }: Setting, what: 'stream' | 'group'): Promise<void> {
  return broker.delete((servers[0] as BrokerServer).url, what, PATTERN)
}

async function deleteStream(setting: Setting): Promise<void> {
  const { done } = setting
  await deleteAt(setting, 'stream')
  // What is published from now on must be handled.
  for (let n = 0; n < setting.begun; n++) if (!done.has(n)) setting.deleted.add(n)
}

const PLANS: readonly { readonly name: string; plan(isLong: boolean): Plan }[] = [
  {
    name: 'durable-plain',
    plan: (isLong) => ({
      title: 'durable events: three consumers under load, without a fault',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: false, isOnce: true },
      ...{ faults: 0, fault: async () => {} }
    })
  },
  {
    name: 'durable-delete-stream',
    plan: (isLong) => ({
      title: 'durable events: the stream deleted under load, and made again',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: false },
      ...{ faults: isLong ? 50 : 10, fault: deleteStream }
    })
  },
  {
    name: 'durable-delete-consumer',
    plan: (isLong) => ({
      title: 'durable events: the consumer of the group deleted under load',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: false },
      ...{ faults: isLong ? 50 : 10, fault: (setting) => deleteAt(setting, 'group') }
    })
  },
  {
    name: 'durable-delete-consumer-ordered',
    plan: (isLong) => ({
      title: 'durable events in the order of their keys: the consumer of the group deleted under load',
      ...{ events: isLong ? 50_000 : 3_000, keys: 100, processes: 3, isOrdered: true },
      ...{ faults: isLong ? 30 : 6, fault: (setting) => deleteAt(setting, 'group') }
    })
  },
  {
    name: 'durable-kill-consumers',
    plan: (isLong) => ({
      title: 'durable events: consumers killed (SIGKILL), poison among them',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: false },
      ...{ faults: isLong ? 50 : 10, poison: 5, fault: killConsumer }
    })
  },
  {
    name: 'durable-kill-server',
    plan: (isLong) => ({
      title: 'durable events: the NATS server killed and started again',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 2, isOrdered: false },
      ...{ faults: isLong ? 20 : 5, fault: killServer }
    })
  },
  {
    name: 'durable-kill-node',
    plan: (isLong) => ({
      title: 'durable events with 3 replicas: one node of three killed and returned',
      ...{ events: isLong ? 100_000 : 3_000, keys: 1_000, processes: 2, nodes: 3, isOrdered: false },
      ...{ faults: isLong ? 20 : 3 },
      fault: async (setting, n) => {
        await killServer(setting, n)
        // Until it has what it has missed: two that lack it are no majority.
        await pause(3_000)
      }
    })
  },
  {
    name: 'durable-ordered',
    plan: (isLong) => ({
      title: 'durable events in the order of their keys: consumers and server killed',
      ...{
        events: isLong ? 50_000 : 3_000,
        keys: isLong ? 1_000 : 100,
        processes: isLong ? 8 : 4,
        isOrdered: true
      },
      ...{ faults: isLong ? 30 : 6 },
      fault: (setting, n) => (n % 3 === 0 ? killServer(setting, n) : killConsumer(setting, n))
    })
  },
  {
    name: 'durable-long-handlers',
    plan: (isLong) => ({
      title: `durable events: handlers of ${isLong ? 60 : 3} s, signs of life every 0.5 s, the NATS server killed`,
      ...{ events: isLong ? 512 : 64, keys: 64, processes: 2, isOrdered: false },
      ...{ takes: isLong ? 60_000 : 3_000, faults: isLong ? 10 : 1 },
      fault: async (setting, n) => {
        await pause(isLong ? 15_000 : 500)
        await killServer(setting, n)
      }
    })
  },
  {
    name: 'durable-rolling-restart',
    plan: (isLong) => ({
      title: 'durable events: rolling restart of three consumers',
      ...{ events: isLong ? 50_000 : 3_000, keys: 100, processes: 3, isOrdered: false, isOnce: true },
      ...{ faults: isLong ? 30 : 6, fault: restartConsumer }
    })
  }
]

/** Each process in turn goes, and comes back: both move partitions. */
async function rebalance({ services }: Setting, n: number): Promise<void> {
  const service = services[Math.ceil(n / 2) % services.length] as ServerProcess
  await pause(3_000)
  if (n % 2 === 0) await service.start()
  else await within(service.stop('SIGTERM'), 'The service ends after SIGTERM')
}

/** As an operator does it: no group can be deleted that has members. */
async function deleteOffsets(setting: Setting): Promise<void> {
  await Promise.all(setting.services.map((service) => service.stop('SIGTERM')))
  await deleteAt(setting, 'group')
  await Promise.all(setting.services.map((service) => service.start()))
}

const PLANS_OF_PARTITIONS: typeof PLANS = [
  {
    name: 'durable-rebalance',
    plan: (isLong) => ({
      title: 'durable events in the order of their keys: a rebalance every 3 s',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: true, isOnce: true },
      ...{ faults: isLong ? 100 : 4, fault: rebalance }
    })
  },
  {
    name: 'durable-poison-first',
    plan: (isLong) => ({
      title: 'durable events: poison at the head of each partition, consumers killed (SIGKILL)',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: false },
      ...{ faults: isLong ? 20 : 4, poisonFirst: 64, fault: killConsumer }
    })
  },
  {
    name: 'durable-delete-offsets',
    plan: (isLong) => ({
      title: 'durable events in the order of their keys: the offsets of the group deleted',
      ...{ events: isLong ? 20_000 : 2_000, keys: 100, processes: 3, isOrdered: true },
      ...{ faults: isLong ? 10 : 2, fault: deleteOffsets }
    })
  },
  {
    name: 'durable-add-partitions',
    plan: (isLong) => ({
      title: 'durable events: two partitions added at a time, under load',
      ...{ events: isLong ? 100_000 : 5_000, keys: 1_000, processes: 3, isOrdered: false, isOnce: true },
      ...{ faults: isLong ? 20 : 4 },
      fault: ({ servers }) => addPartitions((servers[0] as BrokerServer).url, PATTERN, 2)
    })
  }
]

/**
 * Only where a group can be gone while what is stored stays; and a quorum queue of RabbitMQ 3.10 that is deleted while
 * many publish and declare it may be left without a process, which ends every channel that uses it.
 */
const OF_LOGS = ['durable-delete-stream', 'durable-delete-consumer', 'durable-delete-consumer-ordered']

export const durableEvents: readonly Scenario[] = tortured('torture of durable events')
  .filter((broker) => broker.storesNothing !== true)
  .flatMap((broker) => [
    ...[...PLANS, ...(broker.hasPartitions ? PLANS_OF_PARTITIONS : [])]
      .filter(
        ({ name, plan }) =>
          (broker.hasCluster || plan(false).nodes === undefined) &&
          (broker.hasLog || !OF_LOGS.includes(name)) &&
          !(broker.hasPartitions && name.startsWith('durable-delete-consumer'))
      )
      .map(
        ({ name, plan }): Scenario => ({
          name: broker.name === 'nats' ? name : `${broker.name}-${name}`,
          run: (circumstances) => run(plan(circumstances.length === 'long'), broker, circumstances)
        })
      ),
    ...(broker.name === 'nats' ? [{ name: 'durable-flood', run: floodOfEvents }] : [])
  ])

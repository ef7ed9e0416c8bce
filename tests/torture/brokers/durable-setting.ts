/** A server of an engine, processes that handle its durable events, and a client that publishes. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { ServerProcess } from '../../support/server-process.ts'
import { pause } from '../../support/within.ts'
import type { Broker, BrokerServer } from './engine.ts'

/** The event. */
export const PATTERN = 'torture.event'

/** A plan of faults. */
export interface Plan {
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
  /** Whether a second run of a successful event breaks a promise: where nothing was killed. */
  readonly isOnce?: boolean
  /** Milliseconds that a handler takes; then no more than `events` are published. Default: up to 4, by chance. */
  readonly takes?: number
  fault(setting: Setting, n: number): Promise<void>
}

/** A server, processes that handle, and a client that publishes. */
export class Setting {
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

  /** The events that handlers have done, line by line. */
  get lines(): { readonly what: string; readonly key: string; readonly n: number }[] {
    const lines = readFileSync(this.path, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => {
      const [what = '', key = '', n] = line.split(' ')
      return { what, key, n: Number(n) }
    })
  }

  /** Numbers of the events that have succeeded. */
  get done(): Set<number> {
    return new Set(this.lines.filter(({ what, n }) => what === 'done' && n >= 0).map(({ n }) => n))
  }

  /** Deleted events that nobody has run. */
  gone(done: { has(n: number): boolean }): number {
    return [...this.deleted].filter((n) => !done.has(n)).length
  }

  async end(): Promise<void> {
    await this.client.close().catch(() => {})
    await Promise.allSettled(this.services.map((service) => service.stop('SIGKILL')))
    await Promise.allSettled(this.servers.map((server) => server.stop()))
    rmSync(this.folder, { recursive: true, force: true })
  }
}

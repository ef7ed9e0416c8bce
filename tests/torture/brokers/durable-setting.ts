/** A server of an engine, processes that handle its durable events, and a client that publishes them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pause } from '@elysia-microservices/test-support'
import { connect, type StoringTransport, type UntypedStoringClient } from 'elysia-microservices/client'
import { ownFolder } from '../../support/own-folder.ts'
import { ServerProcess } from '../../support/server-process.ts'
import type { Broker, BrokerServer } from './engine.ts'

/** The pattern of the events. */
export const PATTERN = 'torture.event'

/** A plan with faults for durable events. */
export interface Plan {
  readonly title: string
  /** The least number of events; more are published as long as there are faults. */
  readonly events: number
  readonly keys: number
  readonly processes: number
  /** The number of servers; several form a cluster in which each has a copy. Default: 1. */
  readonly nodes?: number
  readonly isOrdered: boolean
  readonly faults: number
  /** The number of events that always fail, each behind some events with other keys. */
  readonly poison?: number
  /**
   * The number of events that always fail and come before all others: each has its own key, so that every partition
   * begins with some of them.
   */
  readonly poisonFirst?: number
  /** Whether a successful event may not run twice, because nothing is killed. */
  readonly isOnce?: boolean
  /**
   * The milliseconds that a handler takes; if given, only `events` events are published. Default: up to 4, at random.
   */
  readonly takes?: number
  fault(setting: Setting, n: number): Promise<void>
}

/** A server, processes with handlers, and a client that publishes. */
export class Setting {
  readonly folder = mkdtempSync(join(tmpdir(), 'durable-torture-'))
  readonly path = join(this.folder, 'runs')
  readonly broker: Broker
  readonly servers: readonly BrokerServer[]
  readonly services: readonly ServerProcess[]
  readonly client: UntypedStoringClient
  /** The number of events whose publishing has begun: all events below this number. */
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
      transport: broker.transport(urls, { replicas }) as StoringTransport,
      timeout: 60_000,
      logger: { error() {}, warn() {} }
    })
  }

  static async start(plan: Plan, broker: Broker): Promise<Setting> {
    const store = ownFolder('durable-store')
    const { nodes = 1 } = plan
    const setting = new Setting(broker, await broker.start(nodes, store), plan)
    await setting.client.connect()
    const start = () => Promise.all(setting.services.map((service) => service.start()))
    // An engine without a log stores events only for groups that exist, so the services start first.
    if (!broker.hasLog) await start()
    // In a cluster, the servers first elect the leader of the stream; after this event, the stream exists for all
    // services.
    await setting.client.publish(PATTERN, -1, { key: 'first' })
    if (broker.hasLog) await start()
    await pause(broker.settlesIn ?? 0)
    return setting
  }

  /** The lines that the handlers have written. */
  get lines(): { readonly what: string; readonly key: string; readonly n: number }[] {
    const lines = readFileSync(this.path, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => {
      const [what = '', key = '', n] = line.split(' ')
      return { what, key, n: Number(n) }
    })
  }

  /** The numbers of the events that have succeeded. */
  get done(): Set<number> {
    return new Set(this.lines.filter(({ what, n }) => what === 'done' && n >= 0).map(({ n }) => n))
  }

  /** The number of deleted events that no handler has run. */
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

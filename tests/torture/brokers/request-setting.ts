/** Servers of an engine, services on them in their own processes, and clients that call them. */

import { pause, within } from '@elysia-microservices/test-support'
import type { ClientTransport } from '@elysia-microservices/transport'
import { ServerProcess } from '../../support/server-process.ts'
import { amidCalls } from '../load/callers.ts'
import type { Circumstances, Row } from '../scenario.ts'
import { errorsInWords, Ledger } from '../support/ledger.ts'
import { highest, peakMb } from '../support/memory.ts'
import { RunRecord } from '../support/record.ts'
import type { Broker, BrokerServer, TransportOptions } from './engine.ts'

const CALLERS = 16
/** The timeout of a call in milliseconds: only the timeout notices that a killed service has lost a call. */
export const TIMEOUT = 3_000

/** Servers of an engine, services on them, and clients. */
export class Setting {
  readonly ledger = new Ledger()
  readonly record = new RunRecord()
  readonly #clients: ClientTransport[] = []
  readonly broker: Broker
  readonly servers: readonly BrokerServer[]
  readonly services: readonly ServerProcess[]

  /**
   * Milliseconds between PINGs. A short time, if a plan suspends the server; otherwise a long one, because a busy
   * machine may also delay answers.
   */
  readonly #pingInterval: number

  private constructor(
    broker: Broker,
    servers: readonly BrokerServer[],
    services: number,
    pingInterval: number
  ) {
    this.broker = broker
    this.servers = servers
    this.#pingInterval = pingInterval
    this.services = Array.from({ length: services }, () => this.newService())
  }

  static async start(
    broker: Broker,
    nodes: number,
    services: number,
    pingInterval = 10_000
  ): Promise<Setting> {
    const servers = await broker.start(nodes)
    const setting = new Setting(broker, servers, services, pingInterval)
    await Promise.all(setting.services.map((service) => service.start()))
    return setting
  }

  get urls(): string[] {
    return this.servers.map(({ url }) => url)
  }

  newService(program = 'torture/brokers/request-service'): ServerProcess {
    return new ServerProcess({
      program,
      arguments: () => [this.urls.join(','), this.record.path, String(this.#pingInterval)]
    })
  }

  client(timeout = TIMEOUT, options: TransportOptions = {}): ClientTransport {
    const transport = this.broker.transport(this.urls, { pingInterval: this.#pingInterval, ...options })
    const client = transport.client({
      logger: { error() {}, warn() {} },
      timeout,
      dispatcher: undefined
    })
    this.#clients.push(client)
    return client
  }

  get peakMb(): number | undefined {
    return highest(...this.services.map(({ pid }) => peakMb(pid)))
  }

  /** The row of the table, once all requests have settled. */
  async row(what: string, faults: number, isIdempotent = false): Promise<Row> {
    await this.ledger.settled()
    const runs = this.record.read()
    return {
      scenario: `over ${this.broker.title}: ${what}`,
      server: 'ours',
      faults,
      ...this.ledger.account(runs, isIdempotent),
      peakRssMb: this.peakMb,
      remark: errorsInWords(this.ledger.errors) || 'none failed',
      broken: this.ledger.untruths(runs)
    }
  }

  async end(): Promise<void> {
    await Promise.allSettled(this.#clients.map((client) => client.close()))
    await Promise.allSettled(this.services.map((service) => service.stop('SIGKILL')))
    await Promise.allSettled(this.servers.map((server) => server.stop()))
    this.record.remove()
  }
}

export type InSetting = (
  nodes: number,
  services: number,
  run: (setting: Setting) => Promise<readonly Row[]>,
  pingInterval?: number
) => Promise<readonly Row[]>

/** Runs a function with a setting over an engine, and ends the setting. */
export const settingOver =
  (broker: Broker): InSetting =>
  async (nodes, services, run, pingInterval) => {
    const setting = await Setting.start(broker, nodes, services, pingInterval)
    try {
      return await run(setting)
    } finally {
      await setting.end()
    }
  }

/**
 * Repeats an action under load, and waits each time until a request succeeds.
 * @returns the longest time in milliseconds from the end of a fault to the next success
 */
export async function underLoad(
  setting: Setting,
  times: number,
  { progress }: Circumstances,
  fault: (n: number) => Promise<void>
): Promise<number> {
  const { ledger } = setting
  return amidCalls(ledger, [setting.client()], CALLERS, async () => {
    let worst = 0
    for (let n = 0; n < times; n++) {
      await within(ledger.nextSuccess(), 'The next success')
      await pause(50 + Math.random() * 150)
      await fault(n)
      const over = performance.now()
      await within(ledger.nextSuccess(), 'The next success after it')
      worst = Math.max(worst, performance.now() - over)
      progress(`${n + 1} of ${times}, ${ledger.succeeded} requests succeeded`)
    }
    return worst
  })
}

/**
 * A service with an outbox and durable events, some of which become dead letters; and a second service that can be
 * ended.
 */
import { type ConsoleOptions, consolePage } from '@elysia-microservices/console'
import { telemetry } from '@elysia-microservices/telemetry'
import { tellFigures } from '@elysia-microservices/transport/kit'
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { listen, newApp } from '../support/http-app.ts'
import { HOSTILE } from './shop.ts'

export interface Billing {
  readonly url: string
  /** The lines of the service's log. */
  readonly log: string[]
  /** Ids of events that were handled. */
  readonly done: string[]
  /** Opens the bank: no event fails from now on. */
  openBank(): void
  /** Publishes events that fail while the bank is closed. */
  settle(...ids: string[]): Promise<void>
  /** Publishes an event that comes in an hour. */
  settleLater(id: string): Promise<void>
  /** Ends the service `rates`, which only the console calls. */
  endRates(): Promise<void>
  startRates(version: string): Promise<void>
  call(): Promise<unknown>
  stop(): Promise<void>
}

/** Starts all services. */
export async function startBilling(options: Partial<ConsoleOptions> = {}): Promise<Billing> {
  const done: string[] = []
  const log: string[] = []
  const logger = { error: () => {}, warn: () => {} }
  let isOpen = false
  const transport = memory()
  const billing = microservice({ name: 'billing', version: '2.0.0', transport, describe: true, logger })
    .wrap(telemetry())
    .event(
      'payments.settled',
      ({ delivery }) => {
        if (!isOpen) throw new Error(`The bank is closed ${HOSTILE}`)
        done.push(delivery?.id ?? '')
      },
      { durable: { retry: { attempts: 1 } } }
    )
    .event('payments.refunded', () => {}, { durable: true })
  await billing.listen()
  const ratesTransport = memory()
  const newRates = async (version: string) => {
    const made = microservice({ name: 'rates', version, transport: ratesTransport, describe: true, logger })
      .wrap(telemetry())
      .message('rates.of', () => 3)
    await made.listen()
    return made
  }
  let rates = await newRates('1.0.0')
  const untell = tellFigures({
    name: 'outbox',
    attributes: { schema: 'shop' },
    read: async () => ({ pending: 3, lag: 1_500, failed: 0, published: 1_234, retries: 0 })
  })
  const client = connect({ transport })
  const ratesClient = connect({ transport: ratesTransport })
  const http = await listen(
    newApp().use(
      consolePage({
        services: { billing: client, rates: ratesClient },
        interval: 200,
        logger: { error: (text) => void log.push(text), warn: (text) => void log.push(text) },
        ...options
      })
    )
  )
  return {
    url: `${http.url}/console`,
    log,
    done,
    openBank() {
      isOpen = true
    },
    async settle(...ids) {
      const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
      for (const id of ids)
        await client.publish('payments.settled', { order: id, note: HOSTILE }, { id, key: id, headers })
    },
    async settleLater(id) {
      await client.publish('payments.settled', { order: id, note: HOSTILE }, { id, delay: 3_600_000 })
    },
    call: () => ratesClient.request('rates.of', 1),
    endRates: () => rates.stop(),
    async startRates(version) {
      rates = await newRates(version)
    },
    async stop() {
      untell()
      await http.stop()
      await Promise.all([client.close(), ratesClient.close()])
      await Promise.all([billing.stop(), rates.stop()])
    }
  }
}

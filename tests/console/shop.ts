/** The services that the console shows in tests, and the app in which the console runs. */
import { type ConsoleOptions, consolePage } from '@elysia-microservices/console'
import { telemetry } from '@elysia-microservices/telemetry'
import { t } from 'elysia'
import { microservice, RpcError } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { listen, newApp } from '../support/http-app.ts'

/** A name that would run as code if it were not escaped, and a name that is wider than any screen. */
export const HOSTILE = '<img src=x onerror="document.title=\'run\'">'
export const LONG = 'a-name-without-any-place-to-break-it-'.repeat(10)

export interface Shop {
  readonly url: string
  readonly client: UntypedClient
  /** The data that handlers received. */
  readonly told: unknown[]
  /** How many streams of `ticks` are being read. */
  readonly ticking: () => number
  /** Calls patterns until `stop` is called. */
  load(): { stop(): Promise<void> }
  stop(): Promise<void>
}

/** Starts four services: one describes itself, one does not, one describes itself wrongly, and one does not run. */
export async function startShop(options: Partial<ConsoleOptions> = {}): Promise<Shop> {
  const told: unknown[] = []
  let ticking = 0
  const local = { transport: 'tcp', host: '127.0.0.1', port: 0 } as const
  const orders = microservice({ ...local, name: 'orders', version: '1.2.0', describe: true })
    .wrap(telemetry())
    .message(
      'parcels.create',
      ({ data, headers }) => {
        told.push([data, headers])
        return { id: 7, total: data.items.reduce((sum, { count }) => sum + count, 0) }
      },
      {
        data: t.Object({
          customer: t.String(),
          items: t.Array(t.Object({ sku: t.String(), count: t.Integer({ minimum: 1 }) })),
          express: t.Optional(t.Boolean()),
          payment: t.Optional(t.Union([t.Literal('card'), t.Literal('cash')]))
        }),
        response: t.Object({ id: t.Number(), total: t.Number() })
      }
    )
    .message('parcels.*', ({ params }) => params[0])
    .message('echo', ({ data }) => data)
    .message('fails', () => {
      throw new RpcError({ code: 'NO_STOCK', message: 'Sold out', details: { sku: 'a' } })
    })
    .message('ticks', async function* () {
      ticking++
      try {
        for (let n = 1; ; n++) {
          yield n
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
      } finally {
        ticking--
      }
    })
    .message('fast', function* () {
      for (let n = 1; ; n++) yield n
    })
    .event('parcel.placed', ({ data }) => void told.push(data), { data: t.Object({ id: t.Number() }) })
    .message(HOSTILE, () => HOSTILE)
    .message(LONG, () => LONG)
  const silent = microservice(local).message('x', () => 1)
  const lying = microservice(local).message('elysia-microservices.describe', () => ({
    name: HOSTILE,
    handlers: [
      { kind: 'message', patterns: [{ kind: HOSTILE, pattern: HOSTILE }], data: { title: HOSTILE } }
    ],
    transports: [null, 5, { transport: HOSTILE, inFlight: { current: -1, limit: HOSTILE } }],
    figures: [{ pattern: HOSTILE, durations: { bounds: 'no', counts: {} } }]
  }))
  const services = [orders, silent, lying]
  for (const service of services) await service.listen()
  const clients: Record<string, UntypedClient> = Object.fromEntries(
    ['orders', 'silent', 'lying'].map((name, index) => [
      name,
      connect({ host: '127.0.0.1', port: services[index]!.address!.port })
    ])
  )
  const http = await listen(newApp().use(consolePage({ services: clients, interval: 200, ...options })))
  const client = clients['orders'] as UntypedClient
  return {
    url: `${http.url}/console`,
    client,
    told,
    ticking: () => ticking,
    load() {
      let isOver = false
      const loading = (async () => {
        while (!isOver) {
          await Promise.all(Array.from({ length: 20 }, () => client.request('parcels.7')))
          await client.request('fails').catch(() => {})
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      })()
      return {
        stop() {
          isOver = true
          return loading
        }
      }
    },
    async stop() {
      await http.stop()
      for (const each of Object.values(clients)) await each.close()
      for (const service of services) await service.stop()
    }
  }
}

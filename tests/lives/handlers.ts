/** The service of a life: handlers of every kind, which write down what they do. */
import type { Transport } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { interval, map, range, take } from 'rxjs'
import type { Ledger } from './ledger.ts'
import { type Config, REDRIVES, STORES } from './plan.ts'
import { wait } from './world.ts'

/** Attempts after which a durable event is a dead letter, if dead letters can be given back. */
const ATTEMPTS = 3
/** Most values of the sources that wait, and of an Observable, which cannot be slowed. */
export const MOST_VALUES = { count: Infinity, ticks: 500, observable: 200 } as const

/** The data of calls and events. */
export interface Payload {
  readonly id: string
  readonly takes: number
  readonly values: number
  readonly order: number
  readonly key: string
  readonly failures: number
}

export type Service = ReturnType<typeof serviceOf>

export function serviceOf(transport: Transport, config: Config, ledger: Ledger) {
  const { logger } = ledger
  const service = microservice({ name: 'world', transport, logger })
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
      for (let n = 0; n < Math.min(data.values, MOST_VALUES.ticks) && !signal.aborted; n++) {
        if (data.takes > 0 || n % 50 === 0) await wait(data.takes)
        if (!ledger.pulls('an async generator')) return
        yield n
      }
    })
    .message('observable', ({ data }: Message<Payload>) => {
      ledger.ran(data.id)
      const values = Math.min(data.values, MOST_VALUES.observable)
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

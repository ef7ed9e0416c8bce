/** Tests events that recur by rules of handlers, and that others cost nothing more because of them. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Dispatcher } from '../dispatcher.ts'
import { memory } from '../memory/memory.ts'
import { IncomingMessage } from '../message.ts'
import { ManualClock } from './clock.ts'
import { deliveryOf } from './delivery.ts'
import { durableSettings } from './options.ts'
import { Recurring, recurringOf } from './recurring.ts'

it('an event that does not recur reaches its handlers although its headers cannot be read', () => {
  const reached: IncomingMessage[] = []
  const dispatcher = {
    routes: () => [{ kind: 'event', route: 'placed', durable: {} }],
    event: (message: IncomingMessage) => void reached.push(message)
  } as unknown as Dispatcher
  const recurring = recurringOf(dispatcher, { group: 'orders', logger: console, transports: [memory()] })
  const event = {
    id: 'order 7',
    key: undefined,
    publishedAt: 0,
    position: '1',
    attempt: 1,
    redelivered: false
  }
  const message = new IncomingMessage({
    transport: 'memory',
    kind: 'event',
    pattern: 'placed',
    route: 'placed',
    data: 7,
    stored: {
      delivery: deliveryOf(event, 'orders', 0),
      get metadata(): never {
        throw new Error('Another program has written the headers')
      }
    }
  })
  recurring?.around(dispatcher).event(message)
  assert.deepEqual(reached, [message])
})

it('the next event of a rule is put into the store again if it is gone, as long as the service runs', async () => {
  const durable = durableSettings({ every: { cron: '0 6 * * *', timeZone: 'UTC' } })
  const dispatcher = { routes: () => [{ kind: 'event' as const, route: 'daily', durable }] } as never
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const { store } = memory({ clock })
  const recurring = new Recurring(store, dispatcher, 'reports', { logger: console, name: 'reports' }, clock)
  const client = store.client({ logger: console, name: 'test', timeout: 1_000, dispatcher: undefined })
  const waiting = async () => {
    const ids: string[] = []
    for await (const { id } of client.future?.list() ?? []) ids.push(id)
    return ids
  }
  await recurring.start()
  const [next, ...others] = await waiting()
  assert.deepEqual(others, [])
  await clock.advance(600_000)
  assert.deepEqual(await waiting(), [next])
  await client.future?.cancel('daily', next as string)
  assert.deepEqual(await waiting(), [])
  await clock.advance(600_000)
  assert.deepEqual(await waiting(), [next])
  await recurring.close()
  await client.future?.cancel('daily', next as string)
  await clock.advance(3_600_000)
  assert.deepEqual([await waiting(), clock.waiting], [[], 0])
  await client.close()
})

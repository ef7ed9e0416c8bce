/** Tests events that recur by rules of handlers, and that others cost nothing more because of them. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Dispatcher } from '../dispatcher.ts'
import { NotStoredError, TimeoutError } from '../errors/index.ts'
import { memory } from '../memory/memory.ts'
import { IncomingMessage } from '../message.ts'
import { ManualClock } from './clock.ts'
import { deliveryOf } from './delivery.ts'
import { durableSettings } from './options.ts'
import type { PublishOptions } from './published.ts'
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

/** A service with a recurring event, whose store refuses what is published as the test says. */
function onFullStore() {
  const durable = durableSettings({ every: { cron: '0 6 * * *', timeZone: 'UTC' } })
  const reached: IncomingMessage[] = []
  const dispatcher = {
    routes: () => [{ kind: 'event' as const, route: 'daily', durable }],
    event: (message: IncomingMessage) => void reached.push(message)
  } as unknown as Dispatcher
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const { store } = memory({ clock })
  const state = { refusal: undefined as Error | undefined, timeouts: [] as unknown[] }
  const full: typeof store = {
    ...store,
    client(context) {
      const client = store.client(context)
      const publish = client.publish.bind(client)
      client.publish = async (pattern, data, options?: PublishOptions) => {
        state.timeouts.push(options?.timeout)
        if (state.refusal !== undefined) throw state.refusal
        return publish(pattern, data, options)
      }
      return client
    }
  }
  const lines: string[] = []
  const log = (line: string) => void lines.push(line)
  const owner = { logger: { error: log, warn: log }, name: 'reports' }
  const recurring = new Recurring(full, dispatcher, 'reports', owner, clock)
  const client = store.client({ logger: console, name: 'test', timeout: 1_000, dispatcher: undefined })
  const waiting = async () => {
    const ids: string[] = []
    for await (const { id } of client.future?.list() ?? []) ids.push(id)
    return ids
  }
  const close = () => Promise.all([recurring.close(), client.close()])
  return { recurring, dispatcher, reached, clock, state, lines, waiting, close }
}

const FULL = new NotStoredError('There is no room', true)
const FIRST = 'every reports: 0 6 * * * UTC@2026-01-01T06:00:00.000Z'
const SECOND = 'every reports: 0 6 * * * UTC@2026-01-02T06:00:00.000Z'

for (const refusal of [FULL, new TimeoutError('daily', 5_000, true, 'There is no room')])
  it(`a full store keeps no service from its start, and gets the event when it has room (${refusal.name})`, async () => {
    const { recurring, clock, state, lines, waiting, close } = onFullStore()
    state.refusal = refusal
    await recurring.start()
    assert.deepEqual(state.timeouts, [5_000])
    await clock.advance(30_000)
    assert.deepEqual([await waiting(), state.timeouts.length], [[], 4])
    state.refusal = undefined
    await clock.advance(10_000)
    assert.deepEqual(await waiting(), [FIRST])
    assert.deepEqual(lines, [
      "The next event 'daily' of the group 'reports' is not in the store, which is asked again: There is no room",
      "The next event 'daily' of the group 'reports' waits in the store now"
    ])
    // From now on it is looked for as rarely as in any service.
    await clock.advance(590_000)
    assert.equal(state.timeouts.length, 6)
    await close()
    assert.equal(clock.waiting, 0)
  })

it('a service does not start if its store takes no events at all', async () => {
  const { recurring, state, close } = onFullStore()
  state.refusal = new NotStoredError('The user may not', false)
  await assert.rejects(recurring.start(), state.refusal)
  await close()
})

it('a recurring event runs although the store has no room for the next one, which follows', async () => {
  const { recurring, dispatcher, reached, clock, state, waiting, close } = onFullStore()
  await recurring.start()
  assert.deepEqual(await waiting(), [FIRST])
  await clock.advance(6 * 3_600_000)
  state.refusal = FULL
  const event = { id: FIRST, key: undefined, publishedAt: 0, position: '1', attempt: 1, redelivered: false }
  const message = new IncomingMessage({
    ...{ transport: 'memory', kind: 'event', pattern: 'daily', route: 'daily', data: 7 },
    stored: { delivery: deliveryOf(event, 'reports', 0), metadata: undefined }
  })
  await recurring.around(dispatcher).event(message)
  assert.deepEqual(reached, [message])
  state.refusal = undefined
  await clock.advance(10_000)
  assert.equal((await waiting()).includes(SECOND), true)
  await close()
})

it('what the store has refused is not asked for behind its end', async () => {
  const { recurring, clock, state, close } = onFullStore()
  state.refusal = FULL
  await recurring.start()
  await close()
  assert.equal(clock.waiting, 0)
})

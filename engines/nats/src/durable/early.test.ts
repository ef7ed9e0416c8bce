import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DurableWorker, ManualClock } from '@elysia-microservices/transport/kit'
import { EarlyEvents, type GroupInfo } from './early.ts'
import type { NatsEvent } from './event.ts'

/** Events that wait, with a server that says as a test wants. */
function setting() {
  const clock = new ManualClock()
  const said: string[] = []
  const server: { pending: number; known: number; pin: string | undefined; isSilent: boolean } = {
    pending: 2,
    known: 1,
    pin: 'mine',
    isSilent: false
  }
  /** The questions to the server, and the requests for more events. */
  const looks = { count: 0, fills: 0, asked: () => {} }
  /** Events whose handlers have failed. */
  const failed: NatsEvent[] = []
  /** Events that the worker has. */
  const held = new Set<NatsEvent>()
  const worker = {
    held,
    close: () => void said.push('close'),
    open: () => void said.push('open'),
    release: (keepsFree: boolean) => {
      assert.equal(keepsFree, true, 'events that are free need not wait')
      return failed.splice(0)
    }
  } as unknown as DurableWorker<NatsEvent>
  const name = ({ place }: NatsEvent) => place.sequence
  const early = new EarlyEvents(
    worker,
    {
      info: async () => {
        looks.count++
        looks.asked()
        if (server.isSilent) throw new Error('silent')
        return {
          delivered: { consumer_seq: 9 },
          num_ack_pending: server.pending,
          priority_groups: server.pin === undefined ? [] : [{ pinned_client_id: server.pin }]
        } as unknown as GroupInfo
      },
      countKnown: (last) => {
        assert.equal(last, server.isSilent ? 0 : 9)
        return server.known
      },
      giveBack: (event) => void said.push(`back ${name(event)}`),
      add: (event) => void said.push(`add ${name(event)}`),
      fill: () => void looks.fills++
    },
    clock
  )
  early.pin = 'mine'
  const event = (sequence: number, isOnlyHere = false) =>
    ({ place: { sequence }, isOnlyHere }) as unknown as NatsEvent
  early.begin()
  said.length = 0
  return { clock, said, server, early, event, failed, looks, held }
}

describe('ordered events that arrive before all earlier ones are known', () => {
  it('begin in order as soon as this process has all', async () => {
    const { clock, said, server, early, event } = setting()
    for (const sequence of [7, 5, 6]) early.add(event(sequence))
    await clock.advance(200)
    assert.deepEqual([said, early.isWaiting], [[], true])
    server.known = 2
    await clock.advance(50)
    assert.deepEqual([said, early.isWaiting], [['add 5', 'add 6', 'add 7', 'open'], false])
  })

  it('wait while the server does not answer', async () => {
    const { clock, said, server, early, event } = setting()
    early.add(event(1))
    server.isSilent = true
    server.known = 2
    await clock.advance(2_000)
    assert.deepEqual(said, [])
  })

  it('wait as long as it takes for another process that is to end first', async () => {
    const { clock, said, early, event } = setting()
    early.add(event(1))
    await clock.advance(5_000)
    assert.deepEqual(said, [])
  })

  it('go back if other processes wait for them, or have handled some of them', async () => {
    for (const change of [{ pin: 'other' }, { pin: undefined }, { known: 3 }]) {
      const { clock, said, server, early, event } = setting()
      Object.assign(server, change)
      early.add(event(1))
      await clock.advance(500)
      assert.deepEqual(said, [])
      await clock.advance(1_000)
      assert.deepEqual([said[0], early.pin], ['close', undefined])
      assert.match(said.join(), /back 1/)
    }
  })

  it('go back only when the server says that it has the consumer, unless it has lost them', async () => {
    const { clock, said, server, early, event } = setting()
    for (const one of [event(1), event(2, true)]) early.add(one)
    server.isSilent = true
    early.giveBack()
    await clock.advance(200)
    assert.deepEqual(said, [])
    server.isSilent = false
    await clock.advance(50)
    assert.deepEqual(said, ['back 1'])
    assert.deepEqual(
      early.end().map(({ place }) => place.sequence),
      [2]
    )
  })

  it('go back if their handler has failed meanwhile: here they would not run again before the waiting ends', async () => {
    const { clock, said, early, event, failed } = setting()
    early.add(event(2))
    failed.push(event(1))
    await clock.advance(50)
    assert.deepEqual(said, ['back 1'])
  })

  it('are not looked for any more when their process stops', async () => {
    const { clock, said, early, event, server } = setting()
    early.add(event(1))
    early.stop()
    server.known = 2
    await clock.advance(500)
    assert.deepEqual([said, clock.waiting], [[], 0])
  })

  it('are looked for as long as one is here or a handler runs, whose event may come back', async () => {
    const { clock, looks } = setting()
    await clock.advance(50)
    assert.deepEqual([looks.count, clock.waiting], [0, 0])
    const other = setting()
    other.held.add(other.event(1))
    other.early.begin()
    await other.clock.advance(200)
    assert.deepEqual([other.looks.count, other.clock.waiting], [0, 1])
    other.failed.push(other.event(1))
    await other.clock.advance(50)
    assert.deepEqual([other.looks.count, other.said.includes('back 1')], [1, true])
  })

  it('let more be requested at each look, and when they begin', async () => {
    const { clock, early, event, looks, server } = setting()
    early.add(event(1))
    await clock.advance(100)
    assert.equal(looks.fills, 2)
    server.known = 2
    await clock.advance(50)
    assert.deepEqual([looks.fills, looks.count, clock.waiting], [3, 3, 0])
  })

  it('go back after 10 to 20 looks in a row that were useless, by chance, so that processes do not meet again', async () => {
    const { random } = Math
    try {
      for (const [chance, useless] of [
        [0, 11],
        [0.5, 16],
        [0.99, 20]
      ] as const) {
        Math.random = () => chance
        const { clock, said, server, early, event } = setting()
        early.add(event(1))
        server.pin = 'other'
        await clock.advance(50 * (useless - 1))
        assert.deepEqual(said, [])
        server.pin = 'mine'
        await clock.advance(50)
        server.pin = 'other'
        await clock.advance(50 * (useless - 1))
        assert.deepEqual(said, [], 'one that was not useless')
        early.pin = 'mine'
        await clock.advance(50)
        assert.deepEqual([said[0], early.pin], ['close', undefined])
        early.add(event(2))
        said.length = 0
        await clock.advance(50 * (useless - 1))
        assert.doesNotMatch(said.join(), /close/)
      }
    } finally {
      Math.random = random
    }
  })

  it('stay if the server knows of exactly those that are here, while one is here that it has lost', async () => {
    const { clock, said, server, early, event } = setting()
    early.add(event(2, true))
    early.giveBack()
    server.known = 2
    await clock.advance(2_000)
    assert.deepEqual([said, early.isWaiting], [[], true])
  })

  it('are not given to a handler that has stopped, or waits for others, while the server was asked', async () => {
    for (const change of ['stop', 'begin'] as const) {
      const { clock, said, server, early, event, looks } = setting()
      early.add(event(1))
      server.known = 2
      looks.asked = () => early[change]()
      await clock.advance(50)
      assert.ok(!said.some((one) => one.startsWith('add')), change)
    }
  })

  it('are all here until they end', () => {
    const { early, event } = setting()
    early.add(event(1))
    early.giveBack()
    early.add(event(2))
    const positions = (events: readonly NatsEvent[]) => events.map(({ place }) => place.sequence)
    assert.deepEqual(positions(early.all), [2, 1])
    assert.deepEqual(positions(early.end()), [2, 1])
    assert.deepEqual([early.isWaiting, early.all], [false, []])
  })
})

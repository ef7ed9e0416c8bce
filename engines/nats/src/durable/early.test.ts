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
  /** Events whose handlers have failed. */
  const failed: NatsEvent[] = []
  const worker = {
    held: new Set(),
    close: () => void said.push('close'),
    open: () => void said.push('open'),
    release: () => failed.splice(0)
  } as unknown as DurableWorker<NatsEvent>
  const name = ({ place }: NatsEvent) => place.sequence
  const early = new EarlyEvents(
    worker,
    {
      info: async () => {
        if (server.isSilent) throw new Error('silent')
        return {
          delivered: { consumer_seq: 0 },
          num_ack_pending: server.pending,
          priority_groups: server.pin === undefined ? [] : [{ pinned_client_id: server.pin }]
        } as unknown as GroupInfo
      },
      countKnown: () => server.known,
      giveBack: (event) => void said.push(`back ${name(event)}`),
      add: (event) => void said.push(`add ${name(event)}`),
      fill: () => {}
    },
    clock
  )
  early.pin = 'mine'
  const event = (sequence: number, isOnlyHere = false) =>
    ({ place: { sequence }, isOnlyHere }) as unknown as NatsEvent
  early.begin()
  said.length = 0
  return { clock, said, server, early, event, failed }
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
})

/** Leases, pauses and looks of durable handlers, in a time that passes at the server and in its processes. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { type IncomingMessage, systemClock } from '@elysia-microservices/transport/kit'
import { OverFake } from '../testing/over-fake.ts'
import { streamOf } from '../words/keys.ts'

const MINUTE = 60_000
/** Milliseconds after which the events of a silent process go to another one. */
const ACK_WAIT = 30_000

describe('a durable handler over Redis, as time passes', () => {
  let time: VirtualTime
  let over: OverFake
  let seen: string[]
  beforeEach(() => {
    time = new VirtualTime(40)
    over = new OverFake(systemClock)
    seen = []
  })
  afterEach(async () => {
    await over.close()
    time[Symbol.dispose]()
  })

  const note = ({ data, delivery }: IncomingMessage) => void seen.push(`${data} ${delivery?.attempt}`)
  function busy() {
    let go = () => {}
    const gone = new Promise<void>((resolve) => {
      go = resolve
    })
    const handler = async (message: IncomingMessage) => {
      note(message)
      await gone
    }
    return { handler, go: () => go() }
  }
  const pending = () => over.server.streams.groups(streamOf('p')).find(({ name }) => name === 'g')?.pending

  it('has its event to itself however long it runs, ordered or not', async () => {
    for (const ordered of [false, true]) {
      const { handler, go } = busy()
      seen = []
      const options = { ordered, group: `g${ordered}` }
      const [one, other] = [await over.serve('p', handler, options), await over.serve('p', note, options)]
      await over.publish('p', [String(ordered)], 'k')
      await time.pass(3 * MINUTE)
      assert.equal(seen.length, 1, `${ordered ? 'an ordered' : 'an'} event ran twice`)
      go()
      await over.settle()
      await time.pass(MINUTE)
      assert.equal(seen.length, 1)
      for (const consumer of [one, other]) await consumer.stop()
    }
  })

  it('gets the event of a process that has gone without a word when its lease is over, and no sooner', async () => {
    const { handler } = busy()
    const gone = await over.serve('p', handler)
    await over.publish('p', [1])
    await over.settle()
    await over.serve('p', note)
    await gone.connection.close()
    await time.pass(ACK_WAIT - 1_000)
    assert.deepEqual(seen, ['1 1'])
    await time.pass(10_000)
    assert.deepEqual(seen, ['1 1', '1 2'])
    assert.equal(pending(), 0)
  })

  it('gets an event again when its pause is over, without being told', async () => {
    const retry = { attempts: 3, minDelay: 10_000, factor: 1, maxDelay: 10_000 }
    await over.serve(
      'p',
      (message) => {
        note(message)
        throw new Error('not now')
      },
      { retry }
    )
    await over.publish('p', [1])
    await over.settle()
    await time.pass(9_990)
    assert.deepEqual(seen, ['1 1'])
    await time.pass(20)
    assert.deepEqual(seen, ['1 1', '1 2'])
  })

  it('gets an event of which no message tells, because the message was lost', async () => {
    await over.serve('p', note)
    await time.pass(MINUTE)
    over.server.isMute = true
    await over.publish('p', [1])
    over.server.isMute = false
    await time.pass(10_000)
    assert.deepEqual(seen, ['1 1'])
  })

  it('asks the server the same number of times for many quiet streams as for a few', async () => {
    await over.serve('p.*', note)
    for (let n = 0; n < 20; n++) await over.publish(`p.${n}`, [n])
    await over.settle()
    assert.equal(seen.length, 20)
    await time.pass(MINUTE)
    const asked = new Map<string, number>()
    over.server.refuses = (command) => {
      asked.set(command, (asked.get(command) ?? 0) + 1)
      return undefined
    }
    await time.pass(MINUTE)
    // Two streams are looked at every five seconds.
    const [takes = 0, keeps = 0, alive = 0] = ['take', 'keep', 'present'].map((command) => asked.get(command))
    assert.ok(takes <= 24 && takes > 0, `${takes} requests for events of streams that have none`)
    assert.deepEqual([keeps, alive], [0, 12])
  })

  it('leaves no timer behind', async () => {
    await over.serve('p', note, { ordered: true })
    await over.serve('p.*', note)
    await over.publish('p', [1], 'k')
    await time.pass(MINUTE)
    await over.close()
    assert.equal(time.timers, 0)
  })
})

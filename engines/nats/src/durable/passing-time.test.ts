/** Acknowledgements, requests and looks of durable handlers, in a time that passes at the server and in its processes. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { busy, VirtualTime } from '@elysia-microservices/test-support'
import { type IncomingMessage, systemClock } from '@elysia-microservices/transport/kit'
import { OverFake } from '../testing/over-fake.ts'
import { Rounds } from './rounds.ts'

const MINUTE = 60_000

describe('a durable handler over NATS, as time passes', () => {
  let time: VirtualTime
  let over: OverFake
  let seen: string[]
  beforeEach(() => {
    time = new VirtualTime(20)
    over = new OverFake(systemClock)
    seen = []
  })
  afterEach(async () => {
    await time.settled(over.close())
    time[Symbol.dispose]()
  })

  const note = ({ data, delivery }: IncomingMessage) => void seen.push(`${data} ${delivery?.attempt}`)

  for (const ordered of [false, true])
    it(`has its ${ordered ? 'ordered ' : ''}event to itself however long it runs`, async () => {
      const { handler, go } = busy(note)
      await time.settled(over.serve('p', handler, { ordered }))
      await time.settled(over.publish('p', [1], 'k'))
      await time.until('it runs', () => seen.length === 1)
      await time.settled(over.serve('p', handler, { ordered }))
      await time.pass(3 * MINUTE)
      assert.deepEqual(seen, ['1 1'])
      go()
      await time.until('it is done', () => over.pendingOf('p') === 0)
      await time.pass(3 * MINUTE)
      assert.deepEqual(seen, ['1 1'])
    })

  it('gets the event of a process that has gone without a word when its time is over, and no sooner', async () => {
    const { handler } = busy(note)
    const gone = await time.settled(over.serve('p', handler))
    await time.settled(over.publish('p', [1]))
    await time.until('it runs', () => seen.length === 1)
    await time.settled(over.serve('p', note))
    await time.settled(gone.connection.close())
    await time.pass(20_000)
    assert.deepEqual(seen, ['1 1'])
    await time.pass(20_000)
    assert.deepEqual([seen, over.pendingOf('p')], [['1 1', '1 2'], 0])
  })

  for (const ordered of [false, true])
    it(`gets an ${ordered ? 'ordered ' : ''}event at once, however long there was none`, async () => {
      await time.settled(over.serve('p', note, { ordered }))
      for (const [at, quiet] of [0, 31_000, 5 * MINUTE, 20 * MINUTE].entries()) {
        await time.pass(quiet)
        await time.settled(over.publish('p', [at]))
        await time.pass(1_000)
        assert.equal(seen.length, at + 1, `not after ${quiet} ms`)
      }
    })

  it('asks the server the same number of times for many quiet groups as for a few', async () => {
    const rounds = new Rounds()
    for (let n = 0; n < 10; n++) await time.settled(over.serve(`p${n}`, note, {}, rounds))
    await time.pass(5 * MINUTE)
    let asked = 0
    over.server.streams.refuses = (what) => {
      if (what === 'consumer') asked++
      return undefined
    }
    await time.pass(MINUTE)
    assert.ok(asked > 0 && asked <= 24, `${asked} questions in a minute`)
  })

  it('leaves no timer behind', async () => {
    const consumer = await time.settled(over.serve('p', note, { ordered: true }))
    await time.settled(over.publish('p', [1], 'k'))
    await time.pass(MINUTE)
    await time.settled(consumer.stop())
    await time.settled(over.close())
    await time.pass(10_000)
    assert.equal(time.timers, 0)
  })
})

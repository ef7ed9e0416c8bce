/** How a durable handler begins and ends, and how it shares its room among streams. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { busy, VirtualTime } from '@elysia-microservices/test-support'
import { type IncomingMessage, systemClock } from '@elysia-microservices/transport/kit'
import { OverFake } from '../testing/over-fake.ts'
import { deadOf, GROUPS, streamOf, wakeOf } from '../words/keys.ts'

describe('a durable handler over Redis', () => {
  let over: OverFake
  let seen: unknown[]
  beforeEach(() => {
    over = new OverFake()
    seen = []
  })
  afterEach(() => over.close())

  const note = ({ data }: IncomingMessage) => void seen.push(data)
  const refuse = (command: string, words: string | undefined) => {
    over.server.refuses = (asked) => (asked === command ? words : undefined)
  }

  it('that stops says how many events nobody has any more, if there are some', async () => {
    for (const isGone of [false, true]) {
      const { handler, go } = busy(note)
      seen = []
      const group = `g${isGone}`
      const consumer = await over.serve('p', handler, { group, ordered: true, start: 'new' })
      await over.publish('p', [`${isGone}1`, `${isGone}2`, `${isGone}3`], 'k')
      await over.settle()
      over.lines.length = 0
      if (isGone) {
        over.server.streams.destroy(streamOf('p'))
        await over.pass(0, wakeOf(streamOf('p')))
        while (consumer.figures.unavailable !== undefined) await over.settle()
      }
      const stopped = consumer.stop()
      go()
      await stopped
      assert.deepEqual(seen, [`${isGone}1`])
      assert.deepEqual(
        over.lines.filter((line) => line.includes('were deleted with their stream')),
        isGone
          ? [
              "2 durable events 'p' were deleted with their stream, and had not been handled by this process before it stopped"
            ]
          : []
      )
    }
  })

  it('that the server does not let begin says why', async () => {
    for (const command of ['about', 'handler', 'join', 'ensure']) {
      refuse(command, 'NOPERM no permissions')
      await assert.rejects(over.serve('p', note), {
        name: 'NotStoredError',
        message: /Redis does not store .*'NOPERM no permissions'; give its user the rights/
      })
    }
  })

  it('says that its server, which is back, may evict events by now, and nothing of other failures', async () => {
    await over.serve('p', note)
    const again = async () => {
      over.lines.length = 0
      over.server.stop()
      over.server.start()
      await over.settle()
      return over.lines
    }
    refuse('about', 'NOPERM no permissions')
    assert.deepEqual(await again(), [])
    refuse('about', undefined)
    over.server.streams.facts = { ...over.server.streams.facts, maxmemoryPolicy: 'allkeys-lru' }
    assert.match((await again()).join(), /may evict stored events .*'allkeys-lru'/)
  })

  it('gives each of its streams a turn, so that one with many events does not keep the others waiting', async () => {
    for (const of of ['a', 'b'])
      await over.publish(
        `wide.${of}`,
        [1, 2, 3, 4].map((n) => `${of}${n}`)
      )
    const consumer = await over.serve('wide.*', note, { concurrency: 1 })
    await over.settle()
    await over.settle()
    assert.equal(seen.length, 8)
    const first = String(seen[0]).charAt(0)
    const others = seen.flatMap((one, at) => (String(one).charAt(0) === first ? [] : [at]))
    assert.ok((others[0] as number) <= 2 && (others[1] as number) < 6, seen.join())
    assert.equal(consumer.figures.lag, 0)
  })

  it('takes no more events together than one handler may, however many streams it has, and knows how many wait', async () => {
    const { handler, go } = busy(note)
    const consumer = await over.serve('wide.*', handler, { concurrency: 2 })
    for (const of of ['a', 'b', 'c']) await over.publish(`wide.${of}`, [`${of}1`, `${of}2`])
    await over.settle()
    assert.deepEqual([seen.length, consumer.running], [2, 2])
    over.server.stop()
    over.server.start()
    await over.settle()
    assert.deepEqual([seen.length, consumer.figures.lag], [2, 6])
    go()
    await over.settle()
    assert.equal(seen.length, 6)
  })

  it('is called no more once it has stopped, though messages come, and another one gets the events', async () => {
    const consumer = await over.serve('wide.*', note)
    await over.publish('wide.a', [1])
    await over.settle()
    await consumer.stop()
    await over.publish('wide.a', [2])
    await over.publish('wide.b', [3])
    for (const channel of [wakeOf(streamOf('wide.a')), GROUPS]) await over.pass(0, channel)
    over.server.stop()
    over.server.start()
    consumer.restored()
    await over.settle()
    assert.deepEqual(seen, [1])
    await over.serve('wide.*', note)
    await over.settle()
    assert.deepEqual(seen.toSorted(), [1, 2, 3])
  })

  it('stores a dead letter when the server is back, and leaves no timer when it is cut off', async () => {
    using time = new VirtualTime(40)
    const later = new OverFake(systemClock)
    try {
      let fail: (error: Error) => void = () => {}
      const failed = new Promise<void>((_, reject) => {
        fail = reject
      })
      const retry = { attempts: 1, maxDelay: 2_000 }
      const consumer = await later.serve('p', () => failed, { retry })
      await later.publish('p', [1])
      await later.settle()
      later.server.stop()
      await later.settle()
      fail(new Error('no'))
      await later.settle()
      assert.ok(later.lines.some((line) => line.includes('could not be stored as a dead letter')))
      later.server.start()
      await later.settle()
      assert.deepEqual(later.server.streams.entries(deadOf('g')), [])
      await time.pass(2_000)
      assert.equal(later.server.streams.entries(deadOf('g')).length, 1)
      assert.equal(consumer.figures.lag, 0)
    } finally {
      await later.close()
    }
    await time.pass(60_000)
    assert.equal(time.timers, 0)
  })
})

/** The messages that a durable handler over NATS takes, asks for and gives back, one by one. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { busy, VirtualTime } from '@elysia-microservices/test-support'
import {
  type IncomingMessage,
  ManualClock,
  RetryLater,
  systemClock
} from '@elysia-microservices/transport/kit'
import { headers as newHeaders } from '@nats-io/transport-node'
import { OverFake } from '../testing/over-fake.ts'
import { MAX_PENDING_IN_ORDER } from './groups.ts'
import { AGAIN_STREAM } from './names.ts'
import type { Pull } from './pull.ts'
import { Rounds, type Watched } from './rounds.ts'

const HOUR = 3_600_000

/** Groups that are looked at when a test says so. */
class NoRounds extends Rounds {
  one: Watched | undefined

  override add(one: Watched): void {
    this.one = one
  }
}

describe('a durable handler over NATS', () => {
  let over: OverFake
  let seen: string[]
  beforeEach(() => {
    over = new OverFake()
    seen = []
  })
  afterEach(() => over.close())

  const note = ({ data, delivery }: IncomingMessage) => void seen.push(`${data} ${delivery?.attempt}`)
  /** A delivery of an event. */
  const delivered = (sequence: number, { deliveries = 1, pending = 0, stream = 'p', pin = '' } = {}) => {
    const place = `${stream}.g_p.${deliveries}.${sequence}.${sequence}.${over.clock.now()}000000.${pending}`
    const data = new TextEncoder().encode(`{"data":${sequence}}`)
    const headers = newHeaders()
    if (pin !== '') headers.set('Nats-Pin-Id', pin)
    return { subject: 'p', reply: `$JS.ACK.${place}`, data, headers }
  }
  const toldOf = (sequence: number) =>
    over.server.streams.told
      .filter((words) => words.startsWith(`${sequence} `))
      .map((words) => words.slice(2))

  it('counts those that wait and those that it has, of published events', async () => {
    const { handler, go } = busy(note)
    const consumer = await over.serve('p', handler, { concurrency: 9 })
    const lags: unknown[] = []
    for (const message of [
      delivered(1, { pending: 5 }),
      delivered(2, { pending: 4 }),
      delivered(3, { pending: 7, stream: AGAIN_STREAM })
    ]) {
      consumer.receive(message, message.data)
      lags.push(consumer.figures.lag)
    }
    assert.deepEqual(lags, [5, 5, 5])
    go()
  })

  it('ignores what is no delivery', async () => {
    const consumer = await over.serve('p', note)
    const data = new Uint8Array(1)
    for (const reply of [undefined, 'its.reply']) consumer.receive({ subject: 'p', reply, data }, data)
    await over.settle()
    assert.deepEqual([seen, over.lines], [[], []])
  })

  it('takes a pin only from the server that serves it, if it is ordered, and never with a redriven event', async () => {
    for (const [ordered, isPulled, pins] of [
      [true, true, ['a', 'b', 'b']],
      [false, true, [undefined, undefined, undefined]],
      [true, false, [undefined, undefined, undefined]]
    ] as const) {
      const group = `${ordered}${isPulled}`
      const { handler, go } = busy(note)
      const consumer = await over.serve('p', handler, { ordered, group })
      const pull = { pin: undefined as string | undefined }
      const got = ['a', 'b', 'b'].map((pin, at) => {
        const stream = isPulled ? 'p' : AGAIN_STREAM
        const message = delivered(at + 1, { pin, stream })
        consumer.receive(message, message.data, isPulled ? (pull as Pull) : undefined)
        return pull.pin
      })
      assert.deepEqual(got, pins)
      go()
    }
  })

  it('has room for all that may be delivered while it is ordered and does not know who has what', async () => {
    const consumer = await over.serve('p', note, { ordered: true })
    assert.equal(consumer.room, MAX_PENDING_IN_ORDER)
    for (const sequence of [1, 2]) {
      const message = delivered(sequence)
      consumer.receive(message, message.data)
    }
    assert.equal(consumer.room, MAX_PENDING_IN_ORDER - 2)
  })

  it('lets others go on after a lost connection if it is not ordered', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', (message) => (message.data === 1 ? handler(message) : note(message)))
    await over.publish('p', [1])
    await over.until(() => seen.length === 1)
    over.server.cut()
    await over.settle()
    await over.publish('p', [2])
    await over.settle()
    assert.deepEqual(seen, ['1 1', '2 1'])
    go()
  })

  it('gives back at once, without a pause, what it does not handle any more', async () => {
    const { handler, go } = busy(note)
    const one = await over.serve('p', handler, { concurrency: 1 })
    await over.publish('p', [1])
    await over.until(() => seen.length === 1)
    const stopped = one.stop()
    for (const message of [delivered(7), delivered(1, { deliveries: 2 })]) one.receive(message, message.data)
    await over.settle()
    assert.deepEqual([toldOf(7), toldOf(1)], [['-NAK'], ['-NAK']])
    one.cut()
    await over.settle()
    assert.deepEqual(toldOf(1), ['-NAK', '-NAK'])
    go()
    await stopped
  })

  it('gives its events back at once after a lost connection if it is ordered', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', handler, { ordered: true })
    await over.publish('p', [1, 2], 'k')
    await over.until(() => seen.length === 1)
    await over.until(() => over.pendingOf('p') === 2)
    over.server.cut()
    await over.until(() => toldOf(2).length > 0)
    assert.deepEqual(toldOf(2), ['-NAK'])
    go()
    await over.until(() => seen.length === 2)
  })

  it('says that one event was deleted with its stream when it stops, and says nothing otherwise', async () => {
    const { handler, go } = busy(note)
    const consumer = await over.serve('p', handler, { concurrency: 1, ordered: true })
    await over.publish('p', [1, 2], 'k')
    await over.until(() => over.pendingOf('p') === 2 && seen.length === 1)
    over.server.streams.delete('p')
    await over.until(() => over.lines.length === 1)
    const stopped = consumer.stop()
    go()
    await stopped
    assert.match(over.lines[1] ?? '', /^1 durable events 'p' were deleted with their stream/)
    over.lines.length = 0
    const waiting = busy(note)
    const other = await over.serve('q', waiting.handler, { concurrency: 1, ordered: true })
    await over.publish('q', [3, 4], 'k')
    await over.until(() => over.pendingOf('q') === 2 && seen.at(-1) === '3 1')
    const also = other.stop()
    waiting.go()
    await also
    assert.deepEqual(over.lines, [])
  })

  it('says how many events its stream keeps no longer when it stops', async () => {
    await over.close()
    // The server is two hours behind.
    over = new OverFake(new ManualClock(Date.now() - 2 * HOUR))
    const storage = { maxAge: HOUR, duplicateWindow: 1_000 }
    for (const [pattern, count] of [
      ['p', 1],
      ['q', 2]
    ] as const) {
      const { handler, go } = busy(note)
      const consumer = await over.serve(pattern, handler, { concurrency: 1, ordered: true, storage })
      await over.publish(
        pattern,
        Array.from({ length: count + 1 }, (_, n) => `${pattern}${n}`),
        'k'
      )
      await over.until(() => over.pendingOf(pattern) === count + 1)
      await over.until(() => seen.includes(`${pattern}0 1`))
      const stopped = consumer.stop()
      go()
      await stopped
      assert.match(
        over.lines.at(-1) ?? '',
        new RegExp(`^${count} durable events '${pattern}' are older than their stream keeps.*maxAge: 3600000`)
      )
    }
  })

  it('stops at once while its server is lost', async () => {
    const { handler, go } = busy(note)
    const consumer = await over.serve('p', handler, { concurrency: 1, ordered: true })
    await over.publish('p', [1, 2], 'k')
    await over.until(() => over.pendingOf('p') === 2 && seen.length === 1)
    over.server.stop()
    go()
    const { length } = over.server.streams.asked
    await consumer.stop()
    assert.equal(over.server.streams.asked.length, length)
    over.server.start()
  })

  it('that takes over knows of runs that the process before it has noted since it started', async () => {
    let fails = true
    const handler = (message: IncomingMessage) => {
      note(message)
      if (message.data === 1 && fails) throw new RetryLater(10_000)
    }
    const options = { ordered: true, retry: { attempts: 2 } }
    const first = await over.serve('p', handler, options)
    await over.publish('p', [1, 2], 'k')
    await over.until(() => seen.length === 1 && over.pendingOf('p') === 2)
    await over.serve('p', handler, options)
    fails = false
    await first.stop()
    assert.equal(over.infoOf('p').config.metadata?.['elysia-runs'], '2:1,')
    await over.pass(10_000)
    await over.until(() => seen.length === 3)
    assert.deepEqual(seen, ['1 1', '1 2', '2 1'])
  })

  it('is not quiet while it has an event, however long that takes', async () => {
    const rounds = new NoRounds()
    const { handler, go } = busy(note)
    await over.serve('p', handler, {}, rounds)
    await over.publish('p', [1])
    await over.until(() => seen.length === 1)
    const look = async () => {
      for (let times = 0; times < 3; times++) rounds.one?.look()
      await over.settle()
      return rounds.one?.isQuiet
    }
    assert.equal(await look(), false)
    go()
    await over.until(() => over.pendingOf('p') === 0)
    assert.equal(await look(), true)
  })

  it('has figures that are at most some seconds old', async () => {
    using time = new VirtualTime(20)
    const own = new OverFake(systemClock)
    const consumer = await time.settled(own.serve('p', note, {}, new NoRounds()))
    const asks = async () => {
      own.server.streams.asked.length = 0
      void consumer.figures
      await time.pass(1)
      return own.server.streams.asked.includes('consumer p')
    }
    await time.pass(6_000)
    await asks()
    await time.pass(4_000)
    assert.equal(await asks(), false)
    await time.pass(2_000)
    assert.deepEqual([await asks(), await asks()], [true, false])
    await time.settled(own.close())
  })
})

/** A durable handler over NATS whose consumer, stream or server is gone for a while, or serves another process. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { busy } from '@elysia-microservices/test-support'
import { type IncomingMessage, RetryLater } from '@elysia-microservices/transport/kit'
import { OverFake } from '../testing/over-fake.ts'
import { consumerName, DEAD_STREAM } from './names.ts'

describe('a durable handler over NATS', () => {
  let over: OverFake
  let seen: string[]
  beforeEach(() => {
    over = new OverFake()
    seen = []
  })
  afterEach(() => over.close())

  const note = ({ data, delivery }: IncomingMessage) => void seen.push(`${data} ${delivery?.attempt}`)
  const deleteConsumer = (pattern = 'p', group = 'g') =>
    over.server.streams.find(pattern).leave(consumerName(group, pattern))
  const isThere = (pattern = 'p', group = 'g') => {
    try {
      return over.infoOf(pattern, group) !== undefined
    } catch {
      return false
    }
  }
  const goneLines = () => over.lines.filter((line) => line.includes('is gone'))

  it('goes on behind the events that are done when its consumer is deleted, and logs it once', async () => {
    const { handler, go } = busy(note)
    const consumer = await over.serve('p', (message) =>
      message.data === 3 ? handler(message) : note(message)
    )
    await over.publish('p', [1, 2])
    await over.until(() => over.infoOf('p').ack_floor.stream_seq === 2)
    over.server.cut()
    await over.until(() => consumer.figures.lag === 0)
    await over.publish('p', [3])
    await over.until(() => seen.length === 3)
    deleteConsumer()
    await over.until(() => isThere() && consumer.figures.unavailable === undefined)
    assert.equal(goneLines().length, 1)
    assert.match(goneLines()[0] ?? '', /consumer 'g_p' of the stream 'p' is gone .*behind position 2/)
    go()
    await over.publish('p', [4])
    await over.until(() => seen.includes('4 1') && over.pendingOf('p') === 0)
    assert.deepEqual(seen, ['1 1', '2 1', '3 1', '4 1'])
  })

  it('handles the events that it has, and a stream that was created again from its beginning', async () => {
    const { handler, go } = busy(note)
    const consumer = await over.serve('p', (message) =>
      message.data === 1 ? handler(message) : note(message)
    )
    await over.publish('p', [1])
    await over.until(() => seen.length === 1)
    over.server.streams.delete('p')
    await over.until(() => consumer.figures.unavailable === undefined && isThere())
    assert.match(goneLines()[0] ?? '', /from the beginning of the stream 'p', which is new/)
    await over.publish('p', [2])
    go()
    await over.until(() => seen.length === 2)
    await over.settle()
    assert.deepEqual(seen, ['1 1', '2 1'])
    // The first event of the new stream has the number of the first one of the old.
    assert.equal(over.infoOf('p').ack_floor.stream_seq, 1)
  })

  it('retries in this process an event whose stream was deleted', async () => {
    let hasBegun = false
    const consumer = await over.serve(
      'p',
      async (message) => {
        note(message)
        if (hasBegun) return
        hasBegun = true
        over.server.streams.delete('p')
        await over.until(() => consumer.figures.unavailable === undefined && isThere())
        throw new Error('once')
      },
      { retry: { attempts: 3, minDelay: 10 } }
    )
    await over.publish('p', [1])
    await over.until(() => hasBegun && isThere() && goneLines().length === 1)
    await over.settle()
    await over.pass(10)
    await over.until(() => seen.length === 2)
    assert.deepEqual(seen, ['1 1', '1 2'])
  })

  it('says how many events of a deleted stream it had not handled when it stops', async () => {
    const { handler, go } = busy(note)
    const consumer = await over.serve('p', handler, { concurrency: 1, ordered: true })
    await over.publish('p', [1, 2, 3], 'k')
    await over.until(() => seen.length === 1)
    await over.until(() => over.pendingOf('p') === 3)
    over.server.streams.delete('p')
    await over.until(() => goneLines().length === 1)
    const stopped = consumer.stop()
    go()
    await stopped
    assert.ok(over.lines.some((line) => /^2 durable events 'p' were deleted with their stream/.test(line)))
  })

  it('acknowledges events that ended while JetStream was off, and tells why nothing is received', async () => {
    const { handler, go } = busy(note)
    const consumer = await over.serve('p', handler)
    await over.publish('p', [1])
    await over.until(() => seen.length === 1)
    over.server.hasJetStream = false
    over.server.cut()
    await over.until(() => consumer.figures.unavailable !== undefined)
    assert.match(consumer.figures.unavailable ?? '', /JetStream is off, or not ready/)
    go()
    await over.settle()
    over.server.hasJetStream = true
    await over.until(() => consumer.figures.unavailable === undefined)
    await over.until(() => over.pendingOf('p') === 0)
    assert.deepEqual(over.server.streams.told, ['1 +ACK'])
  })

  it('notices another consumer of the name, and gets what that one would have skipped', async () => {
    const consumer = await over.serve('p', note)
    await over.publish('p', [1])
    await over.until(() => seen.length === 1)
    over.server.cut()
    await over.until(() => consumer.figures.lag === 0)
    over.server.stop()
    const { config } = over.infoOf('p')
    deleteConsumer()
    const stream = over.server.streams.find('p')
    stream.store({ subject: 'p', data: new TextEncoder().encode('{"data":2}') })
    stream.join(config)
    over.server.start()
    await over.until(() => seen.length === 2)
    assert.deepEqual(seen, ['1 1', '2 1'])
    assert.match(goneLines()[0] ?? '', /another one has its name/)
  })

  it('counts all events that are not done', async () => {
    const { handler, go } = busy(note)
    const consumer = await over.serve('p', handler, { concurrency: 1 })
    await over.publish('p', [1, 2, 3])
    await over.until(() => seen.length === 1)
    const { length } = over.server.streams.asked
    over.server.cut()
    await over.until(() => over.server.streams.asked.slice(length).includes('consumer p'))
    await over.settle()
    assert.equal(consumer.figures.lag, 3)
    go()
  })

  it('gives a new consumer the pause of its group', async () => {
    const consumer = await over.serve('p', note)
    const client = await over.open()
    await client.pauseGroup('g', true)
    over.server.cut()
    await over.until(() => consumer.figures.isPaused)
    deleteConsumer()
    await over.until(isThere)
    assert.equal(over.infoOf('p').paused, true)
  })

  it('looks for a lost consumer of redriven events, too', async () => {
    await over.serve('p', note)
    over.server.streams.find('elysia-redriven').leave('g_p')
    await over.until(() => {
      try {
        return over.server.streams.find('elysia-redriven').consumer('g_p').info.num_waiting === 1
      } catch {
        return false
      }
    })
    assert.equal(goneLines().length, 1)
  })

  it('of an ordered group goes on in order after its connection was lost, and runs nothing twice that it still has', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', (message) => (message.data === 1 ? handler(message) : note(message)), {
      ordered: true
    })
    await over.publish('p', [1, 2, 3], 'k')
    await over.until(() => seen.length === 1)
    over.server.cut()
    await over.settle()
    assert.deepEqual(seen, ['1 1'])
    go()
    await over.until(() => seen.length === 3)
    assert.deepEqual(
      seen.map((line) => line[0]),
      ['1', '2', '3']
    )
    await over.until(() => over.pendingOf('p') === 0)
  })

  it('of an ordered group begins nothing after a lost connection until all that runs was delivered again', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', (message) => (message.data === 1 ? handler(message) : note(message)), {
      ordered: true
    })
    await over.publish('p', [1], 'a')
    await over.until(() => seen.length === 1)
    over.server.cut()
    await over.publish('p', [2], 'b')
    await over.until(() => over.pendingOf('p') === 2)
    // Longer than the process looks for what was delivered.
    await new Promise((resolve) => setTimeout(resolve, 120))
    assert.deepEqual(seen, ['1 1'])
    await over.pass(30_001)
    await over.until(() => seen.length === 2)
    assert.deepEqual(seen[1], '2 1')
    go()
  })

  it('of an ordered group begins nothing while its server is lost: another process may be served by then', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', handler, { ordered: true })
    await over.publish('p', [1, 2], 'k')
    await over.until(() => seen.length === 1)
    over.server.stop()
    await over.settle()
    go()
    await over.settle()
    assert.deepEqual(seen, ['1 1'])
    over.server.start()
    await over.until(() => seen.length === 2)
  })

  it('of an ordered group that takes over waits for what the process before it runs', async () => {
    const { handler, go } = busy(note)
    const first = await over.serve('p', handler, { ordered: true, concurrency: 1 })
    await over.publish('p', [1], 'k')
    await over.until(() => seen.length === 1)
    await over.serve('p', note, { ordered: true, concurrency: 1 })
    const pin = () =>
      (over.infoOf('p') as { priority_groups?: { pinned_client_id: string }[] }).priority_groups?.[0]
    const before = pin()?.pinned_client_id
    const stopped = first.stop()
    await over.publish('p', [2, 3], 'k')
    await over.until(() => ![undefined, before].includes(pin()?.pinned_client_id))
    await over.until(() => over.pendingOf('p') === 3)
    // Longer than the process looks for what others still run.
    await new Promise((resolve) => setTimeout(resolve, 120))
    assert.deepEqual(seen, ['1 1'])
    go()
    await stopped
    await over.until(() => seen.length === 3)
    assert.deepEqual(seen, ['1 1', '2 1', '3 1'])
  })

  it('of an ordered group leaves the events to the process that the server serves now', async () => {
    const first = await over.serve('p', note, { ordered: true })
    await over.publish('p', [1], 'k')
    await over.until(() => seen.length === 1)
    await over.serve('p', note, { ordered: true })
    over.server.streams.find('p').consumer('g_p').unpin()
    await over.publish('p', [2, 3], 'k')
    await over.until(() => seen.length === 3)
    await over.settle()
    assert.deepEqual(seen, ['1 1', '2 1', '3 1'])
    assert.equal(first.running, 0)
  })

  it('says so if the server does not let it unpin, and stops', async () => {
    const consumer = await over.serve('p', note, { ordered: true })
    await over.publish('p', [1])
    await over.until(() => over.pendingOf('p') === 0 && seen.length === 1)
    over.server.streams.refuses = (asked) => (asked === 'unpin' ? new Error('no') : undefined)
    await consumer.stop()
    assert.ok(
      over.lines.some((line) => /other processes of the group 'g' still wait for this process/.test(line))
    )
  })

  it('counts an event that waits for others as not attempted, however often it is delivered', async () => {
    const HOUR = 3_600_000
    const options = { ordered: true, retry: { attempts: 2 } }
    const handler = (message: IncomingMessage) => {
      note(message)
      if (message.data === 1 && seen.length < 4) throw new RetryLater(HOUR)
    }
    for (let round = 1; round <= 3; round++) {
      const service = await over.serve('p', handler, options)
      if (round === 1) await over.publish('p', [1, 2], 'k')
      await over.until(() => seen.length === round)
      await over.until(() => over.pendingOf('p') === 2)
      if (round > 1)
        await over.until(() => over.infoOf('p').config.metadata?.['elysia-runs'] === `2:${round - 1},`)
      await service.stop()
    }
    await over.serve('p', handler, options)
    await over.until(() => seen.length === 5)
    assert.deepEqual(seen, ['1 1', '1 2', '1 3', '1 4', '2 1'])
    assert.deepEqual(over.server.streams.find(DEAD_STREAM).messages, [])
  })

  it('gives an event up after some 20 runs whose process has ended each time, also if it had waited before', async () => {
    const HOUR = 3_600_000
    const options = { ordered: true, retry: { attempts: 1 } }
    let runs = 0
    const handler = ({ data }: IncomingMessage) => {
      if (data === 2) runs++
      else if (runs === 0 && seen.length < 3) {
        seen.push('1')
        throw new RetryLater(HOUR)
      }
      return data === 2 ? new Promise<void>(() => {}) : undefined
    }
    let first = true
    const dead = () => over.server.streams.find(DEAD_STREAM).messages.length
    for (let before = 0; before === 0 || dead() === 0; before++) {
      const waits = seen.length
      const began = runs
      const service = await over.serve('p', handler, options)
      if (first) await over.publish('p', [1, 2], 'k')
      first = false
      await over.until(() => runs > began || seen.length > waits || dead() > 0)
      await over.until(() => dead() > 0 || over.pendingOf('p') > 0)
      const stopped = service.stop()
      service.cut()
      await over.settle()
      void stopped
    }
    assert.ok(runs > 18 && runs < 25, `${runs} runs`)
  })
})

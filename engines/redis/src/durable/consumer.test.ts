import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { busy } from '@elysia-microservices/test-support'
import type { IncomingMessage } from '@elysia-microservices/transport/kit'
import { OverFake } from '../testing/over-fake.ts'
import {
  againOf,
  comparePositions,
  deadOf,
  GROUPS,
  STREAMS,
  streamOf,
  turnOf,
  wakeOf
} from '../words/keys.ts'
import { RedisDeadLetters } from './dead-letters.ts'
import { Groups } from './groups.ts'

const HOUR = 3_600_000

describe('a durable handler over Redis', () => {
  let over: OverFake
  let seen: string[]
  beforeEach(() => {
    over = new OverFake()
    seen = []
  })
  afterEach(() => over.close())

  const note = ({ data, delivery }: IncomingMessage) => void seen.push(`${data} ${delivery?.attempt}`)
  const failing = (fails: (data: unknown) => boolean) => (message: IncomingMessage) => {
    note(message)
    if (fails(message.data)) throw new Error('not now')
  }
  const pendingOf = (pattern: string, group = 'g') =>
    over.server.streams.groups(streamOf(pattern)).find(({ name }) => name === group)?.pending

  it('acknowledges what it has handled, and says how many events wait', async () => {
    const consumer = await over.serve('p', note)
    await over.publish('p', [1, 2, 3])
    await over.settle()
    assert.deepEqual(seen, ['1 1', '2 1', '3 1'])
    assert.equal(pendingOf('p'), 0)
    assert.deepEqual([consumer.figures.lag, consumer.running], [0, 0])
  })

  it('gives a failed event back for its pause, and gets it with its next attempt; others go on', async () => {
    const retry = { attempts: 3, minDelay: HOUR, factor: 1, maxDelay: HOUR }
    const consumer = await over.serve(
      'p',
      failing((data) => data === 1),
      { retry }
    )
    await over.publish('p', [1, 2])
    await over.settle()
    await over.pass(HOUR - 1, wakeOf(streamOf('p')))
    assert.deepEqual(seen, ['1 1', '2 1'])
    await over.pass(1, wakeOf(streamOf('p')))
    assert.deepEqual(seen, ['1 1', '2 1', '1 2'])
    assert.equal(consumer.figures.redeliveries, 1)
    assert.deepEqual(over.server.streams.entries(deadOf('g')), [])
  })

  it('makes an event a dead letter of its own group, with all that is known about it', async () => {
    const consumer = await over.serve(
      'p',
      failing(() => true),
      { group: 'failing', retry: { attempts: 1 } }
    )
    await over.serve('p', note, { group: 'other' })
    await over.publish('p', [1], 'k')
    await over.settle()
    assert.equal(consumer.figures.lag, 0)
    const [{ position: original } = {}] = over.server.streams.entries(streamOf('p'))
    const [{ position, ...letter } = {}, ...more] = over.server.streams.entries(deadOf('failing'))
    assert.deepEqual(more, [])
    assert.equal(position, original)
    assert.deepEqual(
      { ...letter, position: original },
      {
        position: original,
        ...{ packet: '{"pattern":"p","data":1}', id: 'id-1', key: 'k', pattern: 'p', handler: 'p' },
        ...{ reason: 'Error: not now', attempts: '1' }
      }
    )
    assert.deepEqual(over.server.streams.entries(deadOf('other')), [])
    assert.deepEqual([pendingOf('p', 'failing'), pendingOf('p', 'other')], [0, 0])
  })

  it('makes an event a dead letter that would be deleted before its next attempt', async () => {
    const storage = { maxAge: 200_000 }
    await over.serve(
      'p',
      failing(() => true),
      { retry: { minDelay: 1 }, storage }
    )
    await over.publish('p', [1])
    await over.settle()
    const [{ reason = '' } = {}] = over.server.streams.entries(deadOf('g'))
    assert.match(reason, /not now; .*maxAge: 200000/)
  })

  it('lists dead letters, redrives each to its own group, and discards them', async () => {
    let isBroken = true
    await over.serve(
      'p',
      failing(() => isBroken),
      { group: 'a', retry: { attempts: 1 } }
    )
    await over.serve('p', note, { group: 'b' })
    await over.publish('p', [1, 2])
    await over.settle()
    const { store } = await over.connect()
    const letters = new RedisDeadLetters('a', async () => store)
    const all = []
    for await (const letter of letters.list()) all.push(letter)
    assert.deepEqual(
      all.map(({ id, reason, group, attempts, data }) => [id, reason, group, attempts, data]),
      [1, 2].map((n) => [`id-${n}`, 'Error: not now', 'a', 1, n])
    )
    const limited = []
    for await (const letter of letters.list({ limit: 1 })) limited.push(letter.id)
    assert.deepEqual(limited, ['id-1'])
    const [first, second] = all.map(({ position }) => position) as [string, string]
    assert.equal((await letters.get(second))?.id, 'id-2')
    isBroken = false
    seen = []
    assert.deepEqual([await letters.redrive(first), await letters.redrive(first)], [true, false])
    await over.settle()
    assert.deepEqual(seen, ['1 1'])
    assert.deepEqual(over.server.streams.entries(againOf('a', 'p')), [], 'it is handled and deleted')
    assert.deepEqual([await letters.discard(second), await letters.discard(second)], [true, false])
    assert.deepEqual([await letters.get(second), await letters.get('no position')], [undefined, undefined])
    assert.deepEqual(over.server.streams.entries(deadOf('a')), [])
  })

  it('redrives a dead letter to the handler with wildcards that had the event, under its own pattern', async () => {
    let isBroken = true
    const patterns: unknown[] = []
    await over.serve(
      'p.*',
      ({ pattern }) => {
        patterns.push(pattern)
        if (isBroken) throw new Error('not now')
      },
      { retry: { attempts: 1 } }
    )
    await over.publish('p.a', [1])
    await over.settle()
    const { store } = await over.connect()
    const letters = new RedisDeadLetters('g', async () => store)
    const [letter] = over.server.streams.entries(deadOf('g'))
    assert.deepEqual([letter?.['pattern'], letter?.['handler']], ['p.a', 'p.*'])
    isBroken = false
    assert.equal(await letters.redrive(letter?.['position'] as string), true)
    await over.settle()
    assert.deepEqual(patterns, ['p.a', 'p.a'])
  })

  it('runs redriven dead letters one after the other, beside new events', async () => {
    let isBroken = true
    const { handler, go } = busy(note)
    const run = (message: IncomingMessage) => {
      if (isBroken) throw new Error('not now')
      return handler(message)
    }
    await over.serve('p', run, { concurrency: 9, retry: { attempts: 1 } })
    await over.publish('p', [1, 2])
    await over.settle()
    isBroken = false
    const { store } = await over.connect()
    for (const { position = '' } of over.server.streams.entries(deadOf('g')))
      await new RedisDeadLetters('g', async () => store).redrive(position)
    await over.publish('p', [3])
    await over.settle()
    assert.deepEqual(seen.toSorted(), ['1 1', '3 1'])
    go()
    await over.settle()
    assert.deepEqual(seen.toSorted(), ['1 1', '2 1', '3 1'])
  })

  it('reads dead letters page by page, each once', async () => {
    const { store } = await over.connect()
    for (let n = 0; n < 250; n++)
      over.server.streams.bury({ stream: 's', group: 'many', process: 'x', ackWait: 1 }, '1-0', true, [
        'packet',
        '{}',
        'id',
        String(n)
      ])
    const ids = []
    for await (const { id } of new RedisDeadLetters('many', async () => store).list()) ids.push(Number(id))
    assert.deepEqual(ids, [...Array(250).keys()])
  })

  it('runs the events of one key in order, while others go on', async () => {
    const { handler, go } = busy(note)
    const first = (message: IncomingMessage) => (message.data === 'a1' ? handler(message) : note(message))
    await over.serve('p', first, { ordered: true })
    await over.publish('p', ['a1', 'a2'], 'a')
    await over.publish('p', ['b1', 'b2'], 'b')
    await over.settle()
    assert.deepEqual(seen, ['a1 1', 'b1 1', 'b2 1'])
    go()
    await over.settle()
    assert.deepEqual(seen, ['a1 1', 'b1 1', 'b2 1', 'a2 1'])
  })

  it('that is ordered begins nothing while its server is lost: another process may have the turn', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', handler, { ordered: true })
    await over.publish('p', [1, 2], 'k')
    await over.settle()
    over.server.stop()
    await over.settle()
    go()
    await over.settle()
    assert.deepEqual(seen, ['1 1'])
    over.server.start()
    await over.settle()
    assert.deepEqual([seen, pendingOf('p')], [['1 1', '2 1'], 0])
  })

  it('goes on with an ordered event that runs when the server is back, and runs it once', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', handler, { ordered: true })
    await over.publish('p', [1, 2], 'k')
    await over.settle()
    over.server.stop()
    over.server.start()
    await over.settle()
    go()
    await over.settle()
    assert.deepEqual([seen, pendingOf('p')], [['1 1', '2 1'], 0])
  })

  it('leaves an ordered group to one process, and goes on when that one stops', async () => {
    const by = (name: string) => (message: IncomingMessage) => void seen.push(`${name}${message.data}`)
    const one = await over.serve('p', by('one '), { ordered: true })
    await over.serve('p', by('other '), { ordered: true })
    await over.publish('p', [1], 'k')
    await over.settle()
    await one.stop()
    await over.publish('p', [2, 3], 'k')
    await over.settle()
    assert.deepEqual(seen, ['one 1', 'other 2', 'other 3'])
    assert.deepEqual(over.server.streams.idle(streamOf('p'), 'g').length, 1)
  })

  it('takes over the events of a process of which nothing is heard', async () => {
    const { handler, go } = busy(note)
    const silent = await over.serve('p', handler)
    await over.publish('p', [1])
    await over.settle()
    await over.serve('p', note)
    await over.pass(29_999, wakeOf(streamOf('p')))
    assert.deepEqual(seen, ['1 1'])
    await silent.connection.close()
    // The other process looks for such events when it is connected again.
    await over.clock.advance(1)
    over.server.stop()
    over.server.start()
    await over.settle()
    assert.deepEqual(seen, ['1 1', '1 2'])
    go()
  })

  it('takes nothing while its group is paused, and goes on when it is resumed', async () => {
    const consumer = await over.serve('p', note)
    await over.serve('q', note, { group: 'other' })
    const connection = await over.connect()
    const groups = new Groups(connection, over.optionsOf().durable, over.logger)
    await groups.pause('g', true)
    await over.publish('p', [1])
    await over.publish('q', [2])
    await over.settle()
    assert.deepEqual([seen, consumer.figures.isPaused], [['2 1'], true])
    await groups.pause('g', false)
    await over.settle()
    assert.deepEqual([seen, consumer.figures.isPaused], [['2 1', '1 1'], false])
  })

  it('takes no more events than it has room for', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', handler, { concurrency: 2 })
    await over.publish('p', [1, 2, 3, 4, 5])
    await over.settle()
    assert.deepEqual([seen, pendingOf('p')], [['1 1', '2 1'], 2])
    go()
    await over.settle()
    assert.equal(seen.length, 5)
  })

  it('gives back what has not begun when it stops, at once and as the same attempt, and waits for what runs', async () => {
    const { handler, go } = busy(note)
    const retry = { attempts: 2, minDelay: 10 }
    const one = await over.serve('p', handler, { concurrency: 1, ordered: true, retry })
    await over.publish('p', [1, 2, 3], 'k')
    await over.settle()
    assert.equal(pendingOf('p'), 3)
    let hasStopped = false
    const stopped = one.stop().then(() => {
      hasStopped = true
    })
    await over.settle()
    assert.deepEqual([hasStopped, pendingOf('p')], [false, 1])
    go()
    await stopped
    assert.deepEqual([pendingOf('p'), over.server.streams.idle(streamOf('p'), 'g')], [0, []])
    await over.serve('p', note, { ordered: true, retry })
    await over.settle()
    assert.deepEqual(seen, ['1 1', '2 1', '3 1'])
  })

  it('gives running events back as the next attempt when it is cut off', async () => {
    const { handler, go } = busy(note)
    const one = await over.serve('p', handler)
    await over.publish('p', [1])
    await over.settle()
    one.cut()
    await over.serve('p', note)
    await over.settle()
    assert.deepEqual(seen, ['1 1', '1 2'])
    go()
  })

  it('is told of nothing any more when it has left', async () => {
    const before = over.server.heard.length
    const consumer = await over.serve('wide.*', note)
    await over.publish('wide.a', [1])
    await over.settle()
    for (const channel of [GROUPS, STREAMS, wakeOf(streamOf('wide.a')), wakeOf(againOf('g', 'wide.*'))])
      assert.ok(over.server.heard.includes(channel), channel)
    await consumer.leave()
    await over.settle()
    assert.deepEqual(
      over.server.heard.filter((channel) => channel.startsWith('_elysia:{events}:')),
      []
    )
    assert.equal(before, 0)
  })

  it('with wildcards finds streams that are created later, and its own events only', async () => {
    await over.serve('wide.*', note)
    await over.publish('wide.a', ['a'])
    await over.publish('narrow.a', ['no'])
    await over.publish('wide.b', ['b'])
    await over.settle()
    assert.deepEqual(seen.toSorted(), ['a 1', 'b 1'])
  })

  it('with wildcards finds streams that were created while the server was away', async () => {
    await over.serve('wide.*', note)
    over.server.stop()
    over.server.streams.ensure('wide.a', 'a stream')
    over.server.streams.write(streamOf('wide.a'), ['packet', '{"pattern":"wide.a","data":1}', 'id', 'a'])
    over.server.start()
    await over.settle()
    assert.deepEqual(seen, ['1 1'])
  })

  it('begins again behind the events that are done when its group is deleted, and logs it once', async () => {
    const { handler, go } = busy(note)
    const slow = (message: IncomingMessage) => (message.data === 2 ? handler(message) : note(message))
    const consumer = await over.serve('p', slow)
    await over.publish('p', [1, 2])
    await over.settle()
    over.server.streams.destroy(streamOf('p'), 'g')
    await over.publish('p', [3])
    over.server.deliver(wakeOf(streamOf('p')), Buffer.from(''))
    await over.settle()
    assert.equal(over.lines.filter((line) => /the group 'g' of the stream .* is gone/.test(line)).length, 1)
    go()
    while (consumer.figures.unavailable !== undefined || !seen.includes('3 1')) await over.settle()
    await over.settle()
    assert.deepEqual(seen, ['1 1', '2 1', '3 1'])
    assert.equal(pendingOf('p'), 0)
  })

  it('gets all events of a stream that is created again, though they have the positions of the old ones', async () => {
    const consumer = await over.serve('p', note)
    await over.publish('p', [1, 2, 3])
    await over.settle()
    over.server.streams.destroy(streamOf('p'))
    // The server's clock stands still.
    await over.publish('p', [4, 5])
    await over.pass(0, wakeOf(streamOf('p')))
    while (consumer.figures.unavailable !== undefined) await over.settle()
    await over.settle()
    assert.deepEqual([seen, pendingOf('p')], [['1 1', '2 1', '3 1', '4 1', '5 1'], 0])
  })

  it('of a new group has nothing from before its start, though the group is deleted while it is paused', async () => {
    const start = { after: `${over.clock.now() + 5}-0` }
    await over.publish('p', [1])
    await over.publish('w.a', [2])
    over.server.streams.pause('g', true)
    const consumers = [await over.serve('p', note), await over.serve('w.*', note, { start })]
    await over.publish('w.b', [3])
    await over.pass(10)
    await over.publish('w.b', [4])
    for (const pattern of ['p', 'w.a', 'w.b']) over.server.streams.destroy(streamOf(pattern), 'g')
    // They create the group again, paused as it was, and are told then that it goes on.
    for (let n = 0; n < 2; n++) {
      over.server.streams.pause('g', false)
      await over.pass(0, GROUPS)
      while (consumers.some(({ figures }) => figures.unavailable !== undefined)) await over.settle()
    }
    assert.deepEqual(seen, ['4 1'])
  })

  it('gets an event of a new stream that has the position of one that still runs', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', (message) => (message.data === 1 ? handler(message) : note(message)))
    await over.publish('p', [1])
    await over.settle()
    over.server.streams.destroy(streamOf('p'))
    // The server's clock stands still.
    await over.publish('p', [2])
    await over.pass(0, wakeOf(streamOf('p')))
    while (!seen.includes('2 1')) await over.settle()
    go()
    await over.settle()
    assert.deepEqual([seen, pendingOf('p')], [['1 1', '2 1'], 0])
  })

  it('handles what it has of a stream that is deleted, and tells the new one nothing of it', async () => {
    const { handler, go } = busy(note)
    const consumer = await over.serve('p', handler, { concurrency: 9 })
    await over.publish('p', [1, 2])
    await over.settle()
    over.server.streams.destroy(streamOf('p'))
    await over.pass(0, wakeOf(streamOf('p')))
    while (consumer.figures.unavailable !== undefined) await over.settle()
    const asked: unknown[] = []
    over.server.refuses = (command, about) => {
      if (command === 'acknowledge') asked.push(about)
      return undefined
    }
    go()
    await over.settle()
    await consumer.stop()
    assert.deepEqual(
      [seen, asked],
      [['1 1', '2 1'], []],
      'the new stream may have another event at that position'
    )
  })

  it('keeps its group paused when all that the server has is deleted', async () => {
    const consumer = await over.serve('p', note)
    const groups = new Groups(await over.connect(), over.optionsOf().durable, over.logger)
    await groups.pause('g', true)
    await over.settle()
    over.server.streams.destroy()
    over.server.deliver(wakeOf(streamOf('p')), Buffer.from(''))
    await over.settle()
    while (consumer.figures.unavailable !== undefined) await over.settle()
    await over.publish('p', [1])
    await over.settle()
    assert.deepEqual([seen, consumer.figures.isPaused], [[], true])
  })

  it('of a new group names the group beside it that has events and no process, as that of a renamed service', async () => {
    const old = await over.serve('p', note, { group: 'old' })
    await old.stop()
    await over.publish('p', [1, 2])
    await over.pass(HOUR)
    await over.serve('p', note, { group: 'new' })
    await over.settle()
    assert.match(over.lines.join('\n'), /2 events 'p' wait for the group 'old', which no process handles/)
  })

  it('says how many events were deleted while its group was away, and goes on behind them', async () => {
    const consumer = await over.serve('p', note)
    await over.publish('p', [1])
    await over.settle()
    await consumer.stop()
    await over.publish('p', [2, 3, 4])
    over.server.streams.shorten(
      streamOf('p'),
      (position) => comparePositions(position, over.server.streams.last(streamOf('p'))) < 0
    )
    await over.serve('p', note)
    await over.settle()
    assert.deepEqual(seen, ['1 1', '4 1'])
    assert.deepEqual(over.lines, [
      `2 events 'p' that the group 'g' had not got were deleted: somebody has shortened the stream '${streamOf('p')}'; the group goes on at the first event that is left`
    ])
  })

  it('acknowledges again what the server had not confirmed when it was lost, and runs nothing twice', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', handler)
    await over.publish('p', [1])
    await over.settle()
    over.server.stop()
    go()
    await over.settle()
    over.server.start()
    await over.settle()
    await over.pass(30_000)
    over.server.stop()
    over.server.start()
    await over.settle()
    assert.deepEqual([seen, pendingOf('p')], [['1 1'], 0])
  })

  it('acknowledges with the next event what was under way when the server was lost, or was refused for a while', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', (message) => (message.data === 1 ? handler(message) : note(message)))
    await over.publish('p', [1])
    await over.settle()
    over.server.suspend()
    go()
    await over.settle()
    over.server.stop()
    over.server.resume()
    over.server.start()
    await over.settle()
    await over.publish('p', [2])
    await over.settle()
    assert.equal(pendingOf('p'), 0)
    over.server.refuses = (asked) =>
      asked === 'acknowledge' ? 'NOREPLICAS Not enough good replicas' : undefined
    await over.publish('p', [3])
    await over.settle()
    assert.equal(pendingOf('p'), 1)
    over.server.refuses = () => undefined
    await over.publish('p', [4])
    await over.pass(0, wakeOf(streamOf('p')))
    while (pendingOf('p') !== 0) await over.settle()
    assert.deepEqual(seen, ['1 1', '2 1', '3 1', '4 1'])
  })

  it('does not get again what another process has done when its group is deleted', async () => {
    const one = await over.serve('p', note)
    await over.publish('p', [1])
    await over.settle()
    await one.stop()
    const other = await over.serve('p', note)
    await over.settle()
    over.server.streams.destroy(streamOf('p'), 'g')
    await over.pass(0, wakeOf(streamOf('p')))
    while (other.figures.unavailable !== undefined) await over.settle()
    await over.settle()
    assert.deepEqual([seen, pendingOf('p')], [['1 1'], 0])
  })

  it('gives back what it had asked for when its group was paused', async () => {
    const { handler, go } = busy(note)
    await over.serve('p', handler, { concurrency: 2 })
    await over.publish('p', [1, 2, 3, 4])
    await over.settle()
    over.server.streams.pause('g', true)
    go()
    await over.settle()
    assert.deepEqual([seen, pendingOf('p')], [['1 1', '2 1'], 0])
  })

  it('gets an event that a client emits once, although it also hears what NestJS clients publish', async () => {
    await over.serve('p', note)
    const client = await over.connect()
    client.emit('p', '{"pattern":"p","data":1}')
    await client.flush()
    await over.settle()
    assert.deepEqual(seen, ['1 1'])
  })

  it('keeps an event whose dead letter the server does not store, and says so', async () => {
    over.server.refuses = (asked) => (asked === 'bury' ? 'OOM command not allowed' : undefined)
    await over.serve(
      'p',
      failing(() => true),
      { retry: { attempts: 1 } }
    )
    await over.publish('p', [1])
    await over.settle()
    assert.deepEqual([over.server.streams.entries(deadOf('g')), pendingOf('p')], [[], 1])
    assert.ok(over.lines.some((line) => line.includes('could not be stored as a dead letter')))
  })

  it('counts the attempt of an ordered event that pauses when its handler stops', async () => {
    const durable = { ordered: true, retry: { attempts: 3, minDelay: 60_000 } }
    for (let runs = 1; runs <= 2; runs++) {
      const one = await over.serve(
        'p',
        failing(() => true),
        durable
      )
      if (runs === 1) await over.publish('p', [1], 'k')
      await over.settle()
      await one.stop()
    }
    assert.deepEqual(seen, ['1 1', '1 2'])
  })

  it('holds the turn of its ordered group under the name of the group and the pattern', async () => {
    await over.serve('p', note, { ordered: true })
    await over.settle()
    const reader = { stream: streamOf('p'), group: 'g', process: 'stranger', ackWait: 1_000 }
    assert.equal(over.server.streams.take({ ...reader, turn: turnOf('g', 'p') }, 1, false).state, 'other')
  })
})

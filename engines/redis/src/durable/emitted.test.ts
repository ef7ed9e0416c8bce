/** Events that are stored without a publisher that waits: those of `emit()`, and those of NestJS clients. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { OverFake } from '../testing/over-fake.ts'
import { nestEvent, STORED } from '../words/frames.ts'
import { GROUPS, handlerOf, streamOf } from '../words/keys.ts'
import { EventStore } from './event-store.ts'
import { NestEvents } from './nest-events.ts'
import { StoredPatterns } from './stored-patterns.ts'

const PACKET = '{"pattern":"a.b","data":1}'

describe('an event that is emitted over Redis', () => {
  let over: OverFake
  beforeEach(() => {
    over = new OverFake()
  })
  afterEach(() => over.close())

  const stored = (pattern: string) => over.server.streams.entries(streamOf(pattern))
  const handle = (pattern: string) => over.server.streams.keepHandler(handlerOf('g', pattern), '{}', true)

  it('is stored once if a durable handler has its pattern, and is not published again', async () => {
    const connection = await over.connect()
    await connection.hear('a.b', () => over.lines.push('published'))
    const patterns = new StoredPatterns(connection, over.optionsOf().durable)
    handle('a.*')
    assert.deepEqual(
      [await patterns.store('a.b', PACKET, { h: '1' }), await patterns.store('b.a', PACKET, undefined)],
      [true, false]
    )
    const [{ packet, headers } = {}, ...more] = stored('a.b')
    assert.deepEqual([packet, headers, more], [PACKET, '{"h":"1"}', []])
    assert.deepEqual(over.lines, [])
  })

  it('is stored as soon as a handler is announced, or the server was lost', async () => {
    const connection = await over.connect()
    const patterns = new StoredPatterns(connection, over.optionsOf().durable)
    assert.equal(await patterns.store('a.b', PACKET, undefined), false)
    handle('a.b')
    assert.equal(await patterns.store('a.b', PACKET, undefined), false, 'it is remembered')
    over.server.deliver(GROUPS, Buffer.from(''))
    await over.settle()
    assert.equal(await patterns.store('a.b', PACKET, undefined), true)
    handle('c')
    patterns.forget()
    assert.equal(await patterns.store('c', PACKET, undefined), true)
  })

  it('is stored from then on if a handler is announced while the handlers are being read, or looked through', async () => {
    const patterns = new StoredPatterns(await over.connect(), over.optionsOf().durable)
    const announce = (pattern: string) => {
      handle(pattern)
      patterns.forget()
    }
    over.server.refuses = (asked) => {
      // Behind the command, and before its answer.
      if (asked === 'handlers') setImmediate(() => announce('a.b'))
      return undefined
    }
    assert.equal(await patterns.store('a.b', PACKET, undefined), false)
    over.server.refuses = () => undefined
    assert.equal(await patterns.store('a.b', PACKET, undefined), true)
    const looked = patterns.store('c', PACKET, undefined)
    announce('c')
    assert.equal(await looked, false)
    assert.equal(await patterns.store('c', PACKET, undefined), true)
  })

  it('is not stored for a user without the right to read the handlers', async () => {
    handle('a.b')
    over.server.refuses = (asked) => (asked === 'handlers' ? 'NOPERM no permissions' : undefined)
    const patterns = new StoredPatterns(await over.connect(), over.optionsOf().durable)
    assert.equal(await patterns.store('a.b', PACKET, undefined), false)
  })

  it('by a NestJS client is stored once by all processes, and each time that it comes again', async () => {
    const processes = await Promise.all(
      [1, 2].map(async () => new NestEvents(await over.connect(), over.optionsOf().durable, over.logger))
    )
    for (let time = 0; time < 2; time++) for (const { receive } of processes) receive('a.b', PACKET)
    await over.settle()
    assert.equal(stored('a.b').length, 2)
    const [one] = processes
    for (const text of [
      nestEvent(PACKET, undefined, [STORED]),
      nestEvent(PACKET, undefined, ['q', STORED]),
      '{"pattern":"a.b","id":"7"}'
    ])
      one?.receive('a.b', text)
    await over.settle()
    assert.deepEqual([stored('a.b').length, over.lines], [2, []])
    over.server.refuses = (asked) => (asked === 'append' ? 'OOM no memory' : undefined)
    one?.receive('a.b', '{"pattern":"a.b","data":2}')
    await over.settle()
    assert.deepEqual(over.lines, ["An event 'a.b' of a Nest client could not be stored"])
  })

  it('by a NestJS client is counted for as long as other processes may hear it, and not for ever', async (t) => {
    let now = 1_000_000
    t.mock.method(performance, 'now', () => now)
    const { receive } = new NestEvents(await over.connect(), over.optionsOf().durable, over.logger)
    const numbers: string[] = []
    for (const later of [0, 0, 10_000, 1, 10_000, 1, 20_000, 1, 20_001]) {
      now += later
      receive('a.b', PACKET)
      await over.settle()
      numbers.push(stored('a.b').at(-1)?.['id']?.split('-').at(-1) as string)
      // The server remembers an id for five seconds.
      await over.pass(5_001)
    }
    assert.deepEqual(numbers, ['1', '2', '3', '4', '5', '6', '7', '8', '1'])
    receive('b.a', PACKET)
    await over.settle()
    assert.match(stored('b.a').at(-1)?.['id'] ?? '', /-1$/)
  })

  it('is not heard by a service without the right to, which begins all the same', async () => {
    over.server.refuses = (asked) => (asked === 'subscribe' ? 'NOPERM no permissions' : undefined)
    const connection = await over.connect()
    await new NestEvents(connection, over.optionsOf().durable, over.logger).hear('a.b')
    over.server.stop()
    const lost = new NestEvents(connection, over.optionsOf().durable, over.logger).hear('b.a')
    await assert.rejects(lost, (error: Error) => error.name !== 'ReplyError')
  })

  it('is stored by a server that was started again, or has lost the stream', async () => {
    const connection = await over.connect()
    const events = new EventStore(connection, over.optionsOf().durable)
    const store = (id: string) =>
      events.store({ route: 'a.b', packet: PACKET, headers: undefined, id, isOwnId: true })
    await store('1')
    over.server.stop()
    over.server.start()
    await over.settle()
    await store('2')
    over.server.streams.destroy()
    await store('3')
    assert.deepEqual(
      stored('a.b').map(({ id }) => id),
      ['3']
    )
  })
})

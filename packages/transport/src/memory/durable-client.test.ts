/** Tests publishing on `memory()`, where events are stored, and its dead letters. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock } from '../durable/clock.ts'
import { durableSettings } from '../durable/options.ts'
import { IncomingMessage } from '../message.ts'
import { turn } from '../testing/streams.ts'
import { memoryDurable } from './durable-client.ts'
import { type MemoryEnd, MemoryHub } from './hub.ts'
import type { MemoryMessage } from './memory-message.ts'
import type { GroupEvent, MemoryGroup } from './store.ts'

function newStore() {
  const clock = new ManualClock(1_000)
  const hub = new MemoryHub('application/json', clock)
  const state = { isClosed: false }
  const durable = memoryDurable(hub, () => state.isClosed, true)
  /** Makes a group whose member records every event that is delivered to it. */
  const joined = (name: string, route: string) => {
    const group: MemoryGroup = hub.store.group(name, route, durableSettings(true), () => {})
    const delivered: GroupEvent[] = []
    group.join({ room: 1, deliver: (event) => void delivered.push(event) })
    return { group, delivered }
  }
  return { hub, clock, state, durable, joined }
}

/** Makes a service without durable handlers, and the list of the events that it has received. */
function listening(hub: MemoryHub) {
  const got: [message: MemoryMessage, isStored: boolean][] = []
  const end: MemoryEnd = {
    service: 'plain',
    request: () => assert.fail('nobody asks'),
    takes: () => true,
    event: (message, isStored) => void got.push([message, isStored])
  }
  hub.add(end)
  return got
}

const textOf = (data: Uint8Array | undefined) => Buffer.from(data ?? []).toString()

describe('an event that is published', () => {
  it('is stored as it was when it was published, and goes to its group and to plain handlers', async () => {
    const { hub, durable, joined } = newStore()
    const { delivered } = joined('g', 'paid')
    const got = listening(hub)
    const [data, headers] = [{ n: 1 }, { tenant: 'a' }]
    const published = durable.publish('paid', data, { key: 'k', id: 'i', headers })
    data.n = 2
    headers.tenant = 'b'
    await turn()
    assert.deepEqual(await published, { id: 'i', position: '1', duplicate: false })
    assert.equal(delivered.length, 1)
    const { stored } = delivered[0] as GroupEvent
    const { message } = stored
    assert.deepEqual([stored.id, stored.key, stored.publishedAt], ['i', 'k', 1_000])
    assert.deepEqual(
      { ...message, data: textOf(message.data) },
      { pattern: 'paid', route: 'paid', data: '{"n":1}', headers: { tenant: 'a' }, timeout: undefined }
    )
    assert.deepEqual(got, [[message, true]])
  })

  it('has an id of its own, and no headers, if none are given', async () => {
    const { durable, joined } = newStore()
    const { delivered } = joined('g', 'paid')
    const [first, second] = [await durable.publish('paid', 1), await durable.publish('paid', 2)]
    assert.notEqual(first.id, second.id)
    assert.deepEqual([first.duplicate, second.duplicate], [false, false])
    assert.deepEqual(
      delivered.map(({ stored }) => [stored.message.headers, stored.key]),
      [
        [undefined, undefined],
        [undefined, undefined]
      ]
    )
  })

  it('is stored once for one id of its pattern', async () => {
    const { durable, joined } = newStore()
    const { delivered } = joined('g', '*')
    assert.equal((await durable.publish('paid', 1, { id: 'i' })).duplicate, false)
    assert.equal((await durable.publish('sent', 1, { id: 'i' })).duplicate, false)
    assert.equal(delivered.length, 2)
  })

  it('waits for its next attempt without a timer while its group has no member', async () => {
    const { durable, clock, hub } = newStore()
    const group = hub.store.group('g', 'paid', durableSettings(true), () => {})
    const delivered: GroupEvent[] = []
    const member = { room: 1, deliver: (event: GroupEvent) => void delivered.push(event) }
    group.join(member)
    await durable.publish('paid', 1)
    await durable.publish('paid', 2)
    group.back(delivered[0] as GroupEvent, 1_000)
    group.leave(member)
    // A handler that ends after its service has left.
    group.back(delivered[1] as GroupEvent, 1_000)
    assert.equal(clock.waiting, 0)
    await clock.advance(900)
    group.join(member)
    assert.deepEqual([delivered.length, clock.waiting], [2, 2])
    await clock.advance(100)
    assert.equal(delivered.length, 4)
  })

  it('is stored once for one id, and comes to nobody a second time', async () => {
    const { hub, durable, joined } = newStore()
    const { delivered } = joined('g', 'paid')
    const got = listening(hub)
    await durable.publish('paid', 1, { id: 'i' })
    assert.deepEqual(await durable.publish('paid', 1, { id: 'i' }), {
      id: 'i',
      position: '1',
      duplicate: true
    })
    assert.deepEqual([delivered.length, got.length], [1, 1])
  })

  it('is refused if it cannot be stored, and then is nowhere', async () => {
    const { hub, state, durable } = newStore()
    const got = listening(hub)
    await assert.rejects(durable.publish('paid', 5n), { code: 'OPTION', path: 'data' })
    await assert.rejects(durable.publish(Symbol('p') as never, 5), { code: 'OPTION' })
    await assert.rejects(durable.publish('paid', 5, { id: 7 as never }), { code: 'OPTION' })
    const reason = new Error('changed my mind')
    await assert.rejects(durable.publish('paid', 5, { signal: AbortSignal.abort(reason) }), {
      name: 'CanceledError',
      message: /'paid'/,
      mayHaveRun: false,
      cause: reason
    })
    state.isClosed = true
    await assert.rejects(durable.publish('paid', 5), { name: 'ConnectionError', mayHaveRun: false })
    assert.equal(got.length, 0)
  })

  it('is refused while too many wait in its group', async () => {
    const { hub, durable, joined } = newStore()
    joined('g', 'other')
    hub.store.group('g', 'paid', durableSettings(true), () => {})
    const message = {
      ...{ pattern: 'paid', route: 'paid', data: Buffer.from('1') },
      ...{ headers: undefined, timeout: undefined }
    }
    for (let event = 0; event < 100_000; event++) hub.store.store(message, undefined)
    const got = listening(hub)
    await assert.rejects(durable.publish('paid', 1), { name: 'NotStoredError', message: /'g'/ })
    assert.equal(got.length, 0)
    await durable.publish('other', 1)
    assert.equal(got.length, 1)
    // One that has waited for its time was accepted.
    await durable.publish('paid', 1, { id: 'later', at: new Date(Date.now() + 3_600_000) })
    assert.equal(await durable.future?.fire('paid', 'later'), true)
    assert.deepEqual([...hub.store.groups.values()].map(({ waiting }) => waiting).sort(), [1, 100_001])
  })

  it('is given up with the message that it is published for', async () => {
    const { durable } = newStore()
    const within = new IncomingMessage({
      ...{ transport: 'test', kind: 'request', pattern: 'p', route: 'p', data: 1 },
      timeout: 0
    })
    await assert.rejects(durable.publish('paid', 1, { within }), { name: 'TimeoutError', mayHaveRun: false })
    const lasting = new IncomingMessage({
      ...{ transport: 'test', kind: 'request', pattern: 'p', route: 'p', data: 1 },
      timeout: 60_000
    })
    assert.equal((await durable.publish('paid', 1, { within: lasting, id: 'i' })).id, 'i')
    lasting.abort({ error: assert.fail, warn: assert.fail })
    await assert.rejects(durable.publish('paid', 1, { within: lasting }), { name: 'CanceledError' })
  })
})

describe('dead letters', () => {
  /** Makes three dead letters of one group, and one of another group. */
  async function buried() {
    const all = newStore()
    const { hub, clock, durable, joined } = all
    const [mine, theirs] = [joined('mine', 'paid'), joined('theirs', 'sent')]
    for (const n of [1, 2, 3])
      await durable.publish('paid', n, { id: `paid ${n}`, headers: { n: String(n) } })
    await durable.publish('sent', 4, { key: 'k' })
    await clock.advance(500)
    for (const event of [...mine.delivered.splice(0), ...theirs.delivered.splice(0)]) {
      event.group.done(event)
      hub.store.bury(event, 'it failed')
    }
    return { ...all, mine, theirs, letters: durable.deadLetters('mine') }
  }
  const listed = async (letters: AsyncIterable<{ position: string; data: unknown }>) => {
    const found: [position: string, data: unknown][] = []
    for await (const { position, data } of letters) found.push([position, data])
    return found
  }

  it('are listed from the oldest on, those of one group, as many as are wanted', async () => {
    const { letters, durable } = await buried()
    const all = [
      ['1', 1],
      ['2', 2],
      ['3', 3]
    ]
    assert.deepEqual(await listed(letters.list()), all)
    assert.deepEqual(await listed(letters.list({})), all)
    assert.deepEqual(await listed(letters.list({ limit: 2 })), all.slice(0, 2))
    assert.deepEqual(await listed(letters.list({ limit: 3 })), all)
    assert.deepEqual(await listed(durable.deadLetters('theirs').list({ limit: 1 })), [['4', 4]])
    assert.deepEqual(await listed(durable.deadLetters('nobody').list()), [])
  })

  it('show what was published, and why it failed', async () => {
    const { letters, durable } = await buried()
    assert.deepEqual(await letters.get('2'), {
      ...{ position: '2', group: 'mine', pattern: 'paid', id: 'paid 2', key: undefined },
      ...{ reason: 'it failed', attempts: 1, headers: { n: '2' }, data: 2 },
      ...{ publishedAt: new Date(1_000), diedAt: new Date(1_500) }
    })
    const other = await durable.deadLetters('theirs').get('4')
    assert.deepEqual([other?.key, other?.headers], ['k', {}])
  })

  it('can be deleted, once, and only those of the group', async () => {
    const { letters, durable } = await buried()
    for (const position of ['4', '9', 'x']) {
      assert.equal(await letters.get(position), undefined)
      assert.equal(await letters.discard(position), false)
      assert.equal(await letters.redrive(position), false)
    }
    assert.deepEqual([await letters.discard('2'), await letters.discard('2')], [true, false])
    assert.deepEqual(
      (await listed(letters.list())).map(([position]) => position),
      ['1', '3']
    )
    assert.notEqual(await durable.deadLetters('theirs').get('4'), undefined)
  })

  it('go back to their group, and are no dead letters any more', async () => {
    const { letters, mine, theirs } = await buried()
    assert.deepEqual([await letters.redrive('2'), await letters.redrive('2')], [true, false])
    assert.deepEqual(
      mine.delivered.map(({ id, attempt }) => [id, attempt]),
      [['paid 2', 1]]
    )
    assert.equal(theirs.delivered.length, 0)
    assert.equal((await listed(letters.list())).length, 2)
  })
})

describe('a group that is paused', () => {
  it('gets nothing until it is resumed; others do', async () => {
    const { durable, joined } = newStore()
    const groups = [joined('mine', 'paid'), joined('mine', 'sent'), joined('theirs', 'paid')]
    const counts = () => groups.map(({ delivered }) => delivered.length)
    await durable.pauseGroup('mine', true)
    await durable.publish('paid', 1)
    await durable.publish('sent', 1)
    assert.deepEqual(counts(), [0, 0, 1])
    assert.equal(await durable.lag?.('mine'), 2)
    await assert.rejects(durable.lag?.('nobody') as Promise<number>, { path: 'group' })
    await durable.pauseGroup('mine', false)
    assert.deepEqual(counts(), [1, 1, 1])
  })
})

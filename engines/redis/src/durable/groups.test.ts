import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { type DurableOptions, durableSettings } from '@elysia-microservices/transport/kit'
import { OverFake } from '../testing/over-fake.ts'
import { handlerOf, streamOf } from '../words/keys.ts'
import { checkDurable, Groups } from './groups.ts'

describe('groups of Redis', () => {
  let over: OverFake
  beforeEach(() => {
    over = new OverFake()
  })
  afterEach(() => over.close())

  async function groupsOf(ackWait = 30_000): Promise<Groups> {
    const { durable } = over.optionsOf({ ackWait })
    return new Groups(await over.connect(), durable, over.logger)
  }
  const register = async (groups: Groups, durable: DurableOptions = {}, pattern = 'p') => {
    await groups.streams(pattern, pattern.includes('*'))
    return groups.register('g', pattern, durableSettings(durable), pattern.includes('*'))
  }

  it('are refused by a server that may evict events or is too old, with what to change', async () => {
    const groups = await groupsOf()
    const { streams } = over.server
    const good = streams.facts
    await groups.check()
    assert.deepEqual(over.lines, [])
    streams.facts = { ...good, maxmemoryPolicy: 'allkeys-lru' }
    await assert.rejects(groups.check(), {
      name: 'OptionError',
      message: /'allkeys-lru'; set it to 'noeviction'/
    })
    for (const version of ['6.2.14', '5.0'])
      await assert.rejects(() => {
        streams.facts = { ...good, version }
        return groups.check()
      }, /need 7 or later/)
    for (const version of ['7.0.1', '10.0', undefined]) {
      streams.facts = { ...good, version, maxmemoryPolicy: undefined, hasAppendOnlyFile: undefined }
      await groups.check()
    }
    assert.deepEqual(over.lines, [])
    streams.facts = { ...good, hasAppendOnlyFile: false }
    await groups.check()
    assert.match(over.lines[0] ?? '', /has no append-only file.*--appendonly yes/)
  })

  it('begin where their start says, and go on there in the next process', async () => {
    const groups = await groupsOf()
    await over.publish('p', [1])
    const last = over.server.streams.last(streamOf('p'))
    for (const [start, from] of [
      ['new', last],
      ['all', '0-0'],
      [{ after: '7-1' }, '7-1'],
      [{ since: new Date(8) }, '7-18446744073709551615']
    ] as const) {
      over.server.streams.destroy()
      await over.publish('p', [1])
      const pinned = start === 'new' ? over.server.streams.last(streamOf('p')) : from
      assert.deepEqual(await register(groups, { start }), { from: pinned, isNew: true })
      assert.deepEqual(await register(groups, { start: 'all' }), { from: pinned, isNew: false })
    }
    await assert.rejects(
      register(groups, { start: { after: 'x' } }, 'other'),
      /a position that publish\(\) gave/
    )
  })

  it('with wildcards begin at the time of the server', async () => {
    const { from } = await register(await groupsOf(), {}, 'any.*')
    assert.equal(from, `${over.clock.now() - 1}-18446744073709551615`)
  })

  it('refuse another order than their other processes have, and warn of other settings once', async () => {
    await register(await groupsOf(), { retry: { attempts: 2 } })
    await assert.rejects(register(await groupsOf(), { ordered: true }), {
      name: 'OptionError',
      message: /'g' handles 'p' already with ordered: false, and this service wants ordered: true/
    })
    const later = await groupsOf()
    for (let n = 0; n < 2; n++) await register(later, { retry: { attempts: 3 } })
    assert.equal(over.lines.length, 1)
    assert.match(over.lines[0] ?? '', /"attempts":2.* in other processes, and with .*"attempts":3.* in this/)
    assert.match(over.server.streams.handler(handlerOf('g', 'p')) ?? '', /"from":"0-0"/)
    assert.throws(() => checkDurable('a.*', durableSettings({ ordered: true }), true), /no order among them/)
  })

  it('agree on one position if two processes register at once', async () => {
    const both = await Promise.all([groupsOf(), groupsOf()])
    const [one, other] = await Promise.all(both.map((groups) => register(groups, { start: 'all' })))
    assert.deepEqual([one?.from, other?.from], ['0-0', '0-0'])
    assert.deepEqual([one?.isNew, other?.isNew].toSorted(), [false, true])
  })

  it('are paused by their own name only, and an unknown one is refused', async () => {
    const groups = await groupsOf()
    await register(groups)
    const reader = { stream: streamOf('p'), group: 'g', process: 'x', ackWait: 1_000 }
    await groups.join(streamOf('p'), 'g', '0-0')
    await groups.join(streamOf('p'), 'other', '0-0')
    await groups.pause('g', true)
    assert.equal(over.server.streams.take(reader, 1, false).state, 'paused')
    assert.equal(over.server.streams.take({ ...reader, group: 'other' }, 1, false).state, 'ok')
    await groups.pause('g', false)
    assert.equal(over.server.streams.take(reader, 1, false).state, 'ok')
    await assert.rejects(groups.pause('nobody', true), { name: 'OptionError', message: /no group 'nobody'/ })
  })

  it('are created once, and a refusal says which and how to allow it', async () => {
    const groups = await groupsOf()
    assert.deepEqual([await groups.join('s', 'g', '0-0'), await groups.join('s', 'g', '0-0')], [true, false])
    over.server.refuses = (asked) =>
      asked === 'join' || asked === 'ensure' ? 'NOPERM no permissions' : undefined
    for (const refused of [groups.join('s', 'more', '0-0'), groups.streams('p', false)])
      await assert.rejects(refused, {
        name: 'NotStoredError',
        message: /give its user the rights of docs\/redis.md/
      })
  })

  it('find the streams of their patterns', async () => {
    const groups = await groupsOf()
    for (const pattern of ['a.b', 'a.c', 'b.c']) await over.publish(pattern, [1])
    const found = await groups.streams('a.*', true)
    assert.deepEqual(found.map(({ pattern }) => pattern).toSorted(), ['a.b', 'a.c'])
    const [one] = await groups.streams('new', false)
    assert.deepEqual(await groups.streams('new', false), [one])
    over.server.streams.destroy(streamOf('new'))
    assert.notEqual((await groups.streams('new', false))[0]?.name, one?.name)
  })
})

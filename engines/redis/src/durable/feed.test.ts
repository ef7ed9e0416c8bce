import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { OverStore, refused } from '../testing/over-store.ts'
import { before } from '../words/keys.ts'
import type { RedisEvent } from './event.ts'

describe('one stream of a group in Redis', () => {
  it('has a floor, behind which its group begins again: what is done, or all before the first that is not', async () => {
    const over = new OverStore()
    await over.take({ done: '5-0' })
    assert.equal(over.feed.floor, '5-0')
    await over.take({ first: '7-0', undone: 1 })
    assert.equal(over.feed.floor, before('7-0'))
    await over.take({})
    assert.equal(over.feed.floor, before('7-0'))
  })

  it('begins again behind what a server has that took over with fewer events', async () => {
    const over = new OverStore()
    await over.take({ done: '8-0' }, '9-0')
    over.last = '3-0'
    await over.feed.look()
    assert.equal(over.feed.floor, '3-0')
  })

  it('keeps the events that run, though its process hung until others might have them', async () => {
    const over = new OverStore()
    const events = ['1-0', '2-0'].map((place) => over.hold(place))
    await over.feed.keep((event) => event.place === '1-0')
    assert.deepEqual(over.kept, [['1-0']])
    assert.deepEqual(
      events.map(({ leasedUntil }) => leasedUntil > performance.now()),
      [true, false]
    )
  })

  it('has no event any more of which the server says that another process has it', async () => {
    const over = new OverStore()
    const events = ['1-0', '2-0'].map((place) => over.hold(place, Number.POSITIVE_INFINITY))
    over.lost = ['1-0']
    await over.feed.keep(() => true)
    assert.deepEqual(
      events.map(({ leasedUntil }) => leasedUntil > performance.now()),
      [false, true]
    )
  })

  it('asks for all events again if the server did not answer a request for them', async () => {
    const over = new OverStore()
    await over.settle()
    await over.refuse()
    await over.take({})
    await over.take({})
    assert.deepEqual(over.takesAll, [true, true, false])
  })

  it('knows how many events wait as soon as the server has given fewer than it was asked for', async () => {
    const over = new OverStore()
    await over.settle()
    await over.take({ undone: 2 }, '1-0', '2-0')
    assert.equal(over.feed.lag, undefined)
    await over.take({ undone: 2 })
    assert.equal(over.feed.lag, 2)
  })

  it('gives back what arrives when it has stopped', async () => {
    const over = new OverStore()
    await over.settle()
    const stopped = over.feed.stop()
    await over.take({ first: '1-0' }, '1-0')
    await stopped
    assert.deepEqual([over.asked, over.feed.held.all.size], [['giveBack'], 0])
  })

  it('tells the server nothing of events of a stream that is gone: another event may have the position', async () => {
    const over = new OverStore()
    const events = ['1-0', '2-0'].map((place) => over.hold(place)) as [RedisEvent, RedisEvent]
    for (const event of events) event.isOnlyHere = true
    over.feed.acknowledge(events[0])
    over.feed.giveBack([events[1]], 0)
    await over.settle()
    assert.deepEqual([over.asked, over.feed.held.all.size], [[], 0])
  })

  it('leaves its group when the server has all that it was told: a process with events is kept', async () => {
    const over = new OverStore()
    const [done, back] = ['1-0', '2-0'].map((place) => over.hold(place)) as [RedisEvent, RedisEvent]
    over.feed.acknowledge(done)
    over.feed.giveBack([back], 0)
    const left = over.feed.leave()
    await over.end('acknowledge')
    assert.deepEqual(over.asked, ['giveBack', 'acknowledge'])
    await over.end('giveBack')
    await left
    assert.deepEqual(over.asked, ['giveBack', 'acknowledge', 'leave'])
    const other = new OverStore()
    other.feed.acknowledge(other.hold('1-0'))
    void other.feed.leave()
    await other.settle()
    assert.deepEqual(other.asked, ['acknowledge'])
  })
})

describe('the requests for events of one stream', () => {
  const full = { first: '1-0', undone: 2, more: -1 }
  const places = (over: OverStore) => [...over.feed.held.all.keys()]

  it('are for new events only, for a moment, when there are as many as it has room for', async () => {
    using time = new VirtualTime()
    const over = new OverStore()
    await over.take(full, '1-0', '2-0')
    over.feed.fill()
    await over.answerNew(false, '3-0', '4-0')
    over.feed.fill()
    await over.answerNew(false, '5-0')
    over.feed.fill()
    assert.deepEqual(over.requests, ['take 2', 'new 2', 'new 2', 'take 2'])
    assert.deepEqual(places(over), ['1-0', '2-0', '3-0', '4-0', '5-0'])
    // 3 of the new ones, and 2 that the last answer to `take` has told of.
    assert.equal(over.feed.lag, undefined)
    await over.answer({
      state: 'ok',
      isNew: false,
      entries: [],
      refusal: '',
      standing: { ...full, done: '' }
    })
    assert.equal(over.feed.lag, 2)
    const later = new OverStore()
    await later.take(full, '1-0', '2-0')
    await time.pass(100)
    later.feed.fill()
    assert.deepEqual(later.requests, ['take 2', 'take 2'])
  })

  it('are for all if one is due soon, if they are in order, or redriven', async () => {
    for (const [options, more, next] of [
      [{}, 100, 'take 2'],
      [{}, 101, 'new 2'],
      [{ turn: 't' }, -1, 'take 2'],
      [{ isAgain: true }, -1, 'take 2']
    ] as const) {
      const over = new OverStore(options)
      await over.take({ ...full, more }, '1-0', '2-0')
      over.feed.fill()
      assert.deepEqual(over.requests, ['take 2', next])
    }
  })

  it('for new events only end when the group is paused, which gets them back, or the server refuses them', async () => {
    const over = new OverStore()
    await over.take(full, '1-0', '2-0')
    over.feed.fill()
    await over.answerNew(true, '3-0', '4-0')
    assert.deepEqual([over.asked, places(over)], [['giveBack'], ['1-0', '2-0']])
    over.feed.fill()
    await over.take(full, '3-0', '4-0')
    over.feed.fill()
    await over.refuse(refused('NOPERM no permissions'))
    assert.match(over.lines.join(), /refuses a command about the events in .*: NOPERM/)
    over.feed.wake()
    assert.deepEqual(over.requests, ['take 2', 'new 2', 'take 2', 'new 2', 'take 2'])
  })

  it('are worth it for an eighth of what it holds, and for no more than a thousand', async () => {
    const over = new OverStore()
    await over.take({})
    over.room = 1
    for (let n = 1; n <= 8; n++) over.hold(`${n}-0`)
    over.feed.wake()
    assert.equal(over.requests.length, 1)
    over.feed.giveBack([over.feed.held.all.get('8-0') as RedisEvent], 0)
    over.feed.wake()
    assert.deepEqual([over.requests.length, over.feed.asked], [2, 1])
    await over.take({})
    over.room = 5_000
    over.feed.wake()
    assert.deepEqual(over.requests.slice(-1), ['take 1024'])
    await over.take({})
    over.room = 0
    over.feed.wake()
    assert.equal(over.requests.length, 3)
    over.room = 2
    over.isIdle = true
    over.feed.wake()
    assert.equal(over.requests.length, 3)
  })

  it('of an ordered handler without room ask for the list of all events, and for nothing else', async () => {
    const over = new OverStore({ turn: 't' })
    await over.take({})
    over.room = -1
    over.feed.needsAll()
    over.feed.fill()
    await over.take({ first: '1-0' }, '2-0', '1-0')
    assert.deepEqual(
      [over.requests, over.told],
      [
        ['take 2', 'take 0'],
        ['all ', 'all 1-0,2-0']
      ]
    )
    over.feed.wake()
    assert.equal(over.requests.length, 2)
  })

  it('of an ordered handler go on when another process has had the turn, in its time or in a second', async () => {
    using time = new VirtualTime()
    for (const [more, pause] of [
      [500, 501],
      [-1, 1_001]
    ] as const) {
      const over = new OverStore({ turn: 't' })
      await over.answer({ state: 'other', standing: { done: '', first: '1-0', undone: 3, more } })
      assert.deepEqual([over.told, over.feed.isQuiet], [['uncertain'], false])
      await time.pass(pause - 1)
      assert.equal(over.requests.length, 1)
      await time.pass(1)
      assert.deepEqual([over.requests.length, over.takesAll], [2, [true, true]])
    }
  })

  it('end while the group is paused, until a message comes', async () => {
    using time = new VirtualTime()
    const over = new OverStore()
    await over.answer({ state: 'paused' })
    assert.deepEqual([over.told, over.feed.isQuiet], [['paused'], false])
    await time.pass(3_600_000)
    assert.equal(over.requests.length, 1)
    over.feed.wake()
    assert.deepEqual(over.takesAll, [true, true])
  })

  it('say why the server has not stored an event whose time has come, and are repeated when it is refused', async () => {
    using time = new VirtualTime()
    const over = new OverStore()
    const standing = { done: '', first: '', undone: 0, more: -1 }
    await over.answer({ state: 'ok', isNew: false, entries: [], refusal: 'OOM', standing })
    assert.match(over.lines.join(), /refuses a command about the events in .*: OOM; trying again/)
    over.feed.wake()
    await over.refuse(refused('BUSY Redis is busy'))
    await time.pass(1_000)
    assert.equal(over.requests.length, 2)
    await time.pass(1)
    assert.equal(over.requests.length, 3)
    await over.refuse(refused('NOGROUP No such key. script: 29a, on @user_script:3.'))
    assert.deepEqual(over.told, ['gone: NOGROUP No such key.'])
  })
})

describe('the leases of one stream', () => {
  it('that the server does not extend are said, and those of an ordered handler ask who has the turn', async () => {
    const over = new OverStore({ turn: 't' })
    await over.take({ first: '1-0', undone: 1 }, '1-0')
    over.told.length = 0
    over.lost = ['1-0']
    await over.feed.keep(() => true)
    assert.deepEqual(over.told, ['uncertain'])
    over.lost = []
    await over.feed.keep(() => true)
    assert.deepEqual(over.told, ['uncertain'])
    over.refusal = refused('NOPERM no permissions')
    await over.feed.keep(() => true)
    assert.match(over.lines.join(), /NOPERM/)
    const plain = new OverStore()
    plain.hold('1-0', Number.POSITIVE_INFINITY)
    plain.lost = ['1-0']
    await plain.feed.keep(() => true)
    assert.deepEqual(plain.told, [])
  })

  it('are asked for in parts, not for events that only this process has, and not without a server', async () => {
    const over = new OverStore()
    for (let n = 1; n <= 1_001; n++) over.hold(`${n}-0`)
    const own = over.hold('2000-0')
    own.isOnlyHere = true
    await over.feed.keep(() => true)
    assert.deepEqual(
      over.kept.map(({ length }) => length),
      [500, 500, 1]
    )
    over.isConnected = false
    await over.feed.keep(() => true)
    assert.equal(over.kept.length, 3)
  })
})

describe('a look at one stream', () => {
  it('deletes what is too old, learns how many events wait, and that the group is gone', async () => {
    const over = new OverStore()
    await over.take(full, '1-0', '2-0')
    over.last = '2-0'
    over.groups = [
      { name: 'other', lag: 9, pending: 0 },
      { name: 'g', lag: 5, pending: 0 }
    ]
    await over.feed.look()
    assert.deepEqual([over.asked, over.feed.lag, over.told, over.lines], [['trim 7'], 7, [], []])
    over.groups = [{ name: 'g', lag: undefined, pending: 0 }]
    await over.feed.look()
    assert.equal(over.feed.lag, 7)
    over.groups = []
    await over.feed.look()
    assert.deepEqual(over.told, ["gone: the stream has no group 'g' any more"])
    over.isIdle = true
    await over.feed.look()
    assert.equal(over.asked.length, 3)
    const again = new OverStore({ isAgain: true })
    await again.feed.look()
    assert.deepEqual(again.asked, [])
  })

  it('knows that the server has lost events, and which of its own', async () => {
    const over = new OverStore()
    await over.take({ first: '1-0', undone: 2 }, '3-0', '4-0')
    over.last = '3-0'
    await over.feed.look()
    assert.deepEqual(
      [...over.feed.held.all.values()].map(({ isOnlyHere }) => isOnlyHere),
      [false, true]
    )
    assert.match(over.lines.join(), /now ends at position 3-0: Redis has lost the events up to 4-0/)
    await over.feed.look()
    assert.equal(over.lines.length, 1, 'it is said once')
  })

  const full = { first: '1-0', undone: 2, more: -1 }
})

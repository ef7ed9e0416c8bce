import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NotStoredError } from '@elysia-microservices/transport/kit'
import { drivers, newEvent, OpenLog } from '../testing/open-log.ts'

for (const [name, driver] of Object.entries(drivers))
  describe(`the log of a file by ${name}`, () => {
    const open = (keeping = {}) => new OpenLog(driver, keeping)

    it('gives each event the next position, and an event of a known id the position of the first', () => {
      const { log } = open()
      const append = (now: number, ...ids: (string | undefined)[]) =>
        log.append(
          ids.map((id, at) => ({
            ...{ pattern: 'p', id: id ?? `own-${now}-${at}`, isOwnId: id === undefined, key: undefined },
            ...{ headers: undefined, body: '{}', size: 2, due: undefined }
          })),
          now
        )
      assert.deepEqual(append(0, 'a', undefined, 'a'), [
        { position: 1, isDuplicate: false },
        { position: 2, isDuplicate: false },
        { position: 1, isDuplicate: true }
      ])
      assert.deepEqual(append(999, 'a'), [{ position: 1, isDuplicate: true }])
      assert.deepEqual(append(1_000, 'a'), [{ position: 3, isDuplicate: false }])
    })

    it('lets one id be that of one event for each pattern', () => {
      const log = open()
      const [one, other] = log.publish(0, { pattern: 'p', id: 'a' }, { pattern: 'q', id: 'a' })
      assert.deepEqual(
        [one, other],
        [
          { position: 1, isDuplicate: false },
          { position: 2, isDuplicate: false }
        ]
      )
    })

    it('forgets ids that nobody may send again, and keeps the others', () => {
      const { database, log } = open()
      const ids = () =>
        database
          .prepare('select id from recent order by id')
          .all()
          .map(({ id }) => id)
      const event = { isOwnId: false, pattern: 'p', key: undefined, headers: undefined, body: '{}', size: 2 }
      log.append([{ ...event, id: 'a', due: undefined }], 0)
      log.append([{ ...event, id: 'b', due: undefined }], 600)
      log.prune(1_000)
      assert.deepEqual(ids(), ['b'])
    })

    it('deletes no event before one that is not too old, though its clock was wrong, and is not held up by one of the future', () => {
      const given = open({ maxAge: 1_000 })
      const { log } = given
      for (const now of [1_000_000, 5_000, 10_000, 0, 10_000]) given.publish(now, {})
      assert.equal(log.prune(10_500), false)
      assert.equal(log.deleted, 2)
      assert.equal(log.bytes, 30)
    })

    it('deletes events when they are too old, a step at a time, and never gives their positions again', () => {
      const given = open({ maxAge: 1_000 })
      const { log } = given
      given.publish(0, ...Array.from({ length: 501 }, () => ({})))
      given.publish(600, {})
      assert.equal(log.prune(999), false)
      assert.equal(log.bytes, 5_020)
      assert.deepEqual([log.prune(1_000), log.deleted, log.bytes], [true, 500, 20])
      assert.deepEqual([log.prune(1_000), log.deleted, log.bytes], [false, 501, 10])
      log.prune(9_000)
      given.restart()
      assert.deepEqual([given.log.deleted, given.log.bytes], [502, 0])
      assert.deepEqual(given.publish(9_000, {}), [{ position: 503, isDuplicate: false }])
    })

    it('stores nothing beyond its limit, says so, and stores again when there is room', () => {
      const given = open({ maxBytes: 25, maxAge: 1_000 })
      const [one, two, three] = given.publish(0, {}, {}, {})
      assert.deepEqual(
        [one, two],
        [
          { position: 1, isDuplicate: false },
          { position: 2, isDuplicate: false }
        ]
      )
      assert.ok(three instanceof NotStoredError)
      assert.match(three.message, /keeps 20 bytes of events, and may keep 25: raise options\.maxBytes/)
      given.log.prune(1_000)
      assert.deepEqual(given.publish(1_000, {}), [{ position: 3, isDuplicate: false }])
    })

    it('stores no event of a pattern behind one for which there is no room, and those of other patterns', () => {
      const given = open({ maxBytes: 25, maxAge: 1_000 })
      const big = { pattern: 'p', size: 20 }
      const told = given.publish(0, { id: 'a' }, big, { pattern: 'p' }, { id: 'a' }, { pattern: 'q' })
      assert.deepEqual(
        told.map((one) => (one instanceof NotStoredError ? 'full' : one.position)),
        [1, 'full', 'full', 1, 2]
      )
      given.log.prune(1_000)
      assert.deepEqual(given.publish(1_000, { pattern: 'p' }), [{ position: 3, isDuplicate: false }])
    })

    it('has nothing of a batch that could not be written, in the file or in memory', () => {
      const given = open()
      given.publish(0, { pattern: 'known' })
      assert.throws(() => given.publish(0, { pattern: 'new' }, { body: null as unknown as string }))
      assert.equal(given.log.patterns.find('new'), undefined)
      assert.deepEqual([given.log.last, given.log.bytes], [1, 10])
      assert.deepEqual(given.publish(0, { pattern: 'new' }), [{ position: 2, isDuplicate: false }])
      assert.equal(given.log.patterns.find('new')?.total, 1)
    })

    it('finds the position behind which the events of a time are', () => {
      const given = open({ maxAge: 10_000 })
      for (const time of [10, 20, 20, 30]) given.publish(time, {})
      const positions = [0, 10, 11, 20, 21, 30, 31].map((time) => given.log.before(time))
      assert.deepEqual(positions, [0, 0, 1, 1, 3, 3, 4])
      given.log.prune(10_020)
      assert.deepEqual([given.log.before(0), given.log.before(30)], [3, 3])
    })
  })

describe('events of the future', () => {
  it('have no position until they are due, and then that of their time, in its order', () => {
    const given = new OpenLog()
    assert.deepEqual(given.publish(0, { id: 'b', due: 20 }, { id: 'a', due: 10 }), [
      { position: undefined, isDuplicate: false },
      { position: undefined, isDuplicate: false }
    ])
    given.publish(5, {})
    const group = given.join('g', 'p', { start: 'all' })
    assert.deepEqual([...given.log.fire(9)], [])
    assert.equal(given.log.later.next, 10)
    assert.deepEqual([...given.log.fire(25)], ['p'])
    const taken = given.take(group)
    assert.deepEqual(
      taken.map(({ id, position, publishedAt }) => [id.slice(0, 1), position, publishedAt]),
      [
        ['i', '1', 5],
        ['a', '2', 25],
        ['b', '3', 25]
      ]
    )
    assert.equal(given.log.later.next, undefined)
  })

  it('are published with the key, the headers and the data with which they were stored', () => {
    const given = new OpenLog()
    const group = given.join('g')
    const bare = { key: undefined, headers: undefined, body: '{}' }
    const whole = { key: 'k', headers: '{"x":"1"}', body: '{"data":{"n":1}}' }
    given.publish(
      0,
      { id: 'a', due: 10, ...bare },
      { id: 'b', due: 11, ...whole },
      { id: 'c', due: 90, ...whole }
    )
    given.log.fire(11)
    given.log.fireNow('p', 'c', 12)
    assert.deepEqual(
      given.take(group).map(({ id, key, headersText, body }) => [id, key, headersText, body]),
      [
        ['a', undefined, null, '{}'],
        ['b', 'k', '{"x":"1"}', '{"data":{"n":1}}'],
        ['c', 'k', '{"x":"1"}', '{"data":{"n":1}}']
      ]
    )
  })

  it('are unique by id while they wait, and for the window after they were published', () => {
    const given = new OpenLog()
    given.publish(0, { id: 'a', due: 5_000 })
    const again = [{ position: undefined, isDuplicate: true }]
    assert.deepEqual(given.publish(4_000, { id: 'a', due: 6_000 }), again)
    assert.deepEqual(given.publish(4_000, { id: 'a' }), again)
    given.log.fire(5_000)
    assert.deepEqual(given.publish(5_999, { id: 'a', due: 9_000 }), [{ position: 1, isDuplicate: true }])
    assert.deepEqual(given.publish(6_000, { id: 'a', due: 9_000 }), [
      { position: undefined, isDuplicate: false }
    ])
  })

  it('are published part by part if they are large, and due at one time', () => {
    const { log } = new OpenLog()
    const events = ['a', 'b', 'c'].map((id) => newEvent({ id, due: 10, size: 700_000 }))
    log.append([...events, newEvent({ id: 'd', due: 10, size: 5_000_000 })], 0)
    const places: number[] = []
    while (log.fire(10).size > 0) places.push(log.last)
    assert.deepEqual(places, [1, 2, 3, 4])
  })

  it('are canceled or published before their time once, and listed the soonest first', () => {
    const given = new OpenLog()
    const { log } = given
    given.publish(0, { id: 'a', due: 30 }, { id: 'b', due: 10 }, { id: 'c', due: 30 })
    const [first, ...rest] = log.later.page(undefined, undefined, 2)
    assert.deepEqual([first?.['id'], ...rest.map((row) => row['id'])], ['b', 'a'])
    assert.deepEqual(
      log.later.page(undefined, rest[0], 2).map((row) => row['id']),
      ['c']
    )
    assert.deepEqual(log.later.page('q', undefined, 2), [])
    assert.deepEqual([log.cancel('p', 'a'), log.cancel('p', 'a'), log.cancel('q', 'b')], [true, false, false])
    assert.deepEqual([log.fireNow('p', 'b', 5), log.fireNow('p', 'b', 5)], [true, false])
    assert.deepEqual([log.last, log.later.next], [1, 30])
  })
})

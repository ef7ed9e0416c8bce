import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ListDeadLettersOptions } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import type { EventFile } from '../connection/event-file.ts'
import { SqliteDeadLetters } from '../durable/dead-letters.ts'
import { drivers, OpenLog } from '../testing/open-log.ts'
import type { TakenEvent } from './event.ts'
import type { Group } from './groups.ts'

const ids = (events: readonly TakenEvent[]) => events.map(({ id }) => id)

describe('a group', () => {
  it('begins where its start says', () => {
    const given = new OpenLog()
    given.publish(10, { id: 'a' }, { id: 'b' })
    given.publish(20, { id: 'c' })
    const starts = {
      all: 'all',
      fresh: 'new',
      after: { after: '1' },
      since: { since: new Date(20) },
      beyond: { after: '99' }
    } as const
    const groups = Object.entries(starts).map(([name, start]) => given.join(name, 'p', { start }))
    assert.deepEqual(
      groups.map((group) => [group.name, given.groups.lag(group)]),
      [
        ['all', 3],
        ['fresh', 0],
        ['after', 2],
        ['since', 1],
        ['beyond', 0]
      ]
    )
    given.publish(30, { id: 'd' })
    assert.deepEqual(
      groups.map((group) => ids(given.take(group)).join('')),
      ['abcd', 'd', 'bcd', 'cd', 'd']
    )
    assert.throws(() => given.join('wrong', 'p', { start: { after: '1-0' } }), {
      name: 'OptionError',
      message: /start\.after must be a position that publish\(\) gave, such as '17'/
    })
  })

  it('that is new skips what is stored, without what is deleted', () => {
    const given = new OpenLog(undefined, { maxAge: 1_000 })
    given.publish(0, {}, {})
    given.publish(500, {})
    given.log.prune(1_000)
    assert.deepEqual([given.join('g').skipped, given.join('h', 'p', { start: 'all' }).skipped], [1, 0])
  })

  it('goes on where it was, and refuses another order', () => {
    const given = new OpenLog()
    const group = given.join('g')
    given.publish(0, { id: 'a' }, { id: 'b' })
    given.take(group, 1)
    given.restart()
    const again = given.join('g')
    assert.deepEqual(ids(given.take(again)), ['a', 'b'])
    assert.throws(() => given.join('g', 'p', { ordered: true }), {
      name: 'OptionError',
      message: /'g' handles 'p' already with ordered: false, and this service wants ordered: true/
    })
  })

  it('stays paused, or goes on, when its process is ended', () => {
    const given = new OpenLog()
    given.join('g')
    for (const isPaused of [true, false]) {
      given.log.transactions.run('disk', () => given.groups.pause('g', isPaused))
      given.restart()
      assert.equal(given.join('g').isPaused, isPaused)
    }
  })

  it('counts each run that has begun when its process is ended, and no other', () => {
    const given = new OpenLog()
    const group = given.join('g', 'p', { ordered: true })
    given.publish(0, { id: 'a' }, { id: 'b' })
    const [first] = given.take(group, 2, 0, false)
    given.groups.begin(group, first as TakenEvent)
    given.restart()
    const attempts = given
      .take(given.join('g', 'p', { ordered: true }))
      .map((event) => [event.id, event.attempt])
    assert.deepEqual(attempts, [
      ['a', 2],
      ['b', 1]
    ])
  })

  it('gets an event again when it is due, and before those that were published later', () => {
    const given = new OpenLog()
    const group = given.join('g')
    given.publish(0, { id: 'a' }, { id: 'b' })
    const [event] = given.take(group, 1)
    given.settle(group, { kind: 'back', event: event as TakenEvent, pause: 10 })
    assert.deepEqual([group.due, given.groups.lag(group)], [10, 2])
    assert.deepEqual(ids(given.take(group, 1, 9)), ['b'])
    given.publish(9, { id: 'c' })
    assert.deepEqual(ids(given.take(group, 1, 10)), ['a'])
    assert.equal(group.due, undefined)
    assert.deepEqual(ids(given.take(group, 1, 10)), ['c'])
  })

  it('gets an event that was given back at once before those whose pause is over', () => {
    const given = new OpenLog()
    const group = given.join('g')
    given.publish(0, { id: 'a' }, { id: 'b' })
    const [a, b] = given.take(group) as [TakenEvent, TakenEvent]
    given.settle(group, { kind: 'back', event: a, pause: 10 }, 0)
    given.settle(group, { kind: 'back', event: b, pause: 0 }, 20)
    assert.equal(group.due, 0)
    assert.deepEqual(ids(given.take(group, 2, 20)), ['b', 'a'])
  })

  it('is due when the first of its pauses is over', () => {
    const given = new OpenLog()
    const group = given.join('g')
    given.publish(0, { id: 'a' }, { id: 'b' })
    const [a, b] = given.take(group) as [TakenEvent, TakenEvent]
    given.settle(group, { kind: 'back', event: a, pause: 10 })
    given.settle(group, { kind: 'back', event: b, pause: 20 })
    assert.equal(group.due, 10)
    assert.deepEqual(ids(given.take(group, 2, 10)), ['a'])
    assert.equal(group.due, 20)
  })

  it('gets what is due before what the log has, and nothing of the log while more is due', () => {
    const given = new OpenLog()
    const group = given.join('g')
    const body = 'x'.repeat(1024 * 1024 + 1)
    given.publish(0, { id: 'a', body }, { id: 'b', body })
    for (const event of given.take(group)) given.settle(group, { kind: 'back', event, pause: 10 })
    given.publish(0, { id: 'c' })
    assert.deepEqual([ids(given.take(group, 9, 10)), ids(given.take(group, 9, 10))], [['a'], ['b', 'c']])
  })

  it('has pauses that end as long after the clock is set back as they would have before', () => {
    const given = new OpenLog()
    const group = given.join('g')
    given.publish(5_000, { id: 'a' })
    const [event] = given.take(group, 1, 5_000)
    given.settle(group, { kind: 'back', event: event as TakenEvent, pause: 1_000 }, 5_000)
    given.log.transactions.run('process', () => given.groups.setBack(3_000))
    assert.equal(group.due, 3_000)
    assert.deepEqual([ids(given.take(group, 1, 2_999)), ids(given.take(group, 1, 3_000))], [[], ['a']])
  })

  it('has what was given back at once before all others, though the clock was set back behind their beginning', () => {
    const given = new OpenLog()
    const group = given.join('g')
    given.publish(5_000, { id: 'a' }, { id: 'b' })
    const [a, b] = given.take(group, 2, 5_000) as [TakenEvent, TakenEvent]
    given.settle(group, { kind: 'back', event: a, pause: 1_000 }, 5_000)
    given.log.transactions.run('process', () => given.groups.setBack(9_000))
    given.settle(group, { kind: 'back', event: b, pause: 0 }, 2_000)
    assert.deepEqual(ids(given.take(group, 2, 2_000)), ['b', 'a'])
  })

  it('has its dead letters alone, gives one back from its first attempt on, and deletes one', () => {
    const given = new OpenLog()
    const group = given.join('g')
    const other = given.join('other')
    given.publish(7, { id: 'a', key: 'k', headers: '{"x":"1"}', body: '{"data":{"n":1}}' })
    const [event] = given.take(group)
    given.settle(group, { kind: 'dead', event: event as TakenEvent, reason: 'no', died: 9 })
    const [letter] = given.letters.page('g', 1, 10)
    assert.deepEqual(letter, {
      ...{ position: '1', group: 'g', pattern: 'p', id: 'a', key: 'k', reason: 'no', attempts: 1 },
      ...{ headers: { x: '1' }, data: { n: 1 }, publishedAt: new Date(7), diedAt: new Date(9) }
    })
    assert.deepEqual(given.letters.page('other', 1, 10), [])
    const { groups } = given
    assert.deepEqual([groups.redrive('other', 1), groups.discard('other', 1)], [undefined, false])
    assert.equal(groups.redrive('g', 1), group)
    assert.deepEqual([groups.redrive('g', 1), groups.discard('g', 1)], [undefined, false])
    assert.deepEqual(given.letters.page('g', 1, 10), [])
    assert.equal(groups.lag(group), 1)
    const [again] = given.take(group)
    assert.deepEqual([again?.id, again?.attempt, again?.position, again?.isFree], ['a', 1, '1', true])
    given.settle(group, { kind: 'dead', event: again as TakenEvent, reason: 'still no', died: 10 })
    assert.deepEqual(
      given.letters.page('g', 1, 10).map(({ position, reason }) => [position, reason]),
      [['2', 'still no']]
    )
    const count = given.database.prepare('select count(*) as count from letter')
    assert.equal(count.get()?.['count'], 1)
    assert.equal(groups.discard('g', 2), true)
    assert.deepEqual([given.letters.page('g', 1, 10), groups.lag(group), groups.lag(other)], [[], 0, 1])
  })

  it('lists each of many dead letters once, or as many as are asked for', async () => {
    const given = new OpenLog()
    const group = given.join('g')
    given.publish(0, ...Array.from({ length: 201 }, () => ({})))
    for (const event of given.take(group, 201))
      given.settle(group, { kind: 'dead', event, reason: 'no', died: 9 })
    const { letters } = given
    const places = async (options: ListDeadLettersOptions) => {
      const found: string[] = []
      const list = new SqliteDeadLetters('g', async () => ({ letters }) as EventFile).list(options)
      for await (const { position } of list) found.push(position)
      return found
    }
    assert.deepEqual(
      await places({}),
      Array.from({ length: 201 }, (_, at) => String(at + 1))
    )
    assert.deepEqual(await places({ limit: 2 }), ['1', '2'])
  })

  it('with wildcards gets the events of all patterns that match, those of the future included', () => {
    const given = new OpenLog()
    given.publish(0, { pattern: 'a.x', id: '1' }, { pattern: 'b', id: '2' })
    const group = given.join('g', 'a.*', { start: 'all' })
    given.publish(0, { pattern: 'b', id: '3' }, { pattern: 'a.y', id: '4' })
    assert.equal(given.groups.lag(group), 2)
    assert.deepEqual(ids(given.take(group, 1)), ['1'])
    assert.deepEqual(ids(given.take(group, 5)), ['4'])
    assert.equal(given.groups.hasMore(group, 0), false)
  })

  it('goes on behind what was deleted before it had got it, and knows how many that were', () => {
    const given = new OpenLog(undefined, { maxAge: 1_000 })
    const exact = given.join('g')
    const wide = given.join('g', '>')
    given.publish(0, {}, {}, { pattern: 'q' })
    given.publish(500, { id: 'left' })
    given.take(exact, 1)
    given.log.prune(1_000)
    const skipped = given.log.transactions.run('process', () =>
      [exact, wide].map((group) => given.groups.skipDeleted(group))
    )
    assert.deepEqual(skipped, [1, 3])
    // The one that it has got and not done is gone with the others.
    assert.deepEqual([given.groups.lag(exact), given.groups.lag(wide)], [2, 1])
    given.restart()
    const again = given.join('g')
    assert.deepEqual(ids(given.take(again)), ['left'])
    assert.equal(given.groups.lag(again), 1)
  })

  it('takes no more bytes at a time than memory has room for', () => {
    const mebibyte = 1024 * 1024
    for (const pattern of ['p', '*']) {
      const given = new OpenLog()
      const group = given.join('g', pattern)
      const sizes = { a: 700_000, b: 700_000, c: mebibyte - 700_000, d: 2 * mebibyte, e: 1 }
      given.publish(0, ...Object.entries(sizes).map(([id, size]) => ({ id, size })))
      const taken = [1, 2, 3, 4].map(() => ids(given.take(group)).join(''))
      assert.deepEqual(taken, ['a', 'bc', 'd', 'e'], pattern)
    }
  })

  it('with wildcards passes what is not for it in steps, and then has what is', () => {
    const given = new OpenLog()
    const group = given.join('g', 'a.*')
    given.publish(0, ...Array.from({ length: 501 }, () => ({ pattern: 'b' })), { pattern: 'a.x', id: 'a' })
    assert.deepEqual(ids(given.take(group)), [])
    assert.deepEqual([group.cursor, group.taken, given.groups.hasMore(group, 0)], [500, 0, true])
    assert.deepEqual(ids(given.take(group)), ['a'])
    assert.deepEqual([group.cursor, group.taken, group.pending], [502, 1, 1])
  })

  it('takes as many as are asked for, of what comes back and of the log together', () => {
    for (const pattern of ['p', '*']) {
      const given = new OpenLog()
      const group = given.join('g', pattern)
      given.publish(0, ...['a', 'b', 'c', 'd'].map((id) => ({ id })))
      const [a] = given.take(group, 1) as [TakenEvent]
      given.settle(group, { kind: 'back', event: a, pause: 0 })
      assert.deepEqual(ids(given.take(group, 3)), ['a', 'b', 'c'], pattern)
      assert.deepEqual([group.taken, group.pending, given.groups.lag(group)], [3, 3, 4])
    }
  })

  it('has more while something of it is due, or in the log behind its cursor, and nothing while it is paused', () => {
    const given = new OpenLog()
    const group = given.join('g')
    const hasMore = (now: number) => given.groups.hasMore(group, now)
    assert.equal(hasMore(0), false)
    given.publish(0, { pattern: 'q' })
    assert.equal(hasMore(0), false)
    given.publish(0, { id: 'a' })
    assert.equal(hasMore(0), true)
    const [a] = given.take(group) as [TakenEvent]
    assert.equal(hasMore(0), false)
    given.settle(group, { kind: 'back', event: a, pause: 10 })
    assert.deepEqual([hasMore(9), hasMore(10)], [false, true])
    given.groups.pause('g', true)
    assert.equal(hasMore(10), false)
  })

  it('finds its events by an index, however many others there are', () => {
    const { database } = new OpenLog()
    const plan = (sql: string) =>
      database
        .prepare(`explain query plan ${sql}`)
        .all()
        .map(({ detail }) => detail)
    assert.deepEqual(
      [
        plan(
          'select position, ordinal, size from event where pattern = 1 and position > 2 order by position limit 3'
        ),
        plan(
          'select position, letter, attempt from pending where grp = 1 and due <= 2 order by due, position, letter limit 3'
        ),
        plan('select due from pending where grp = 1 and due is not null order by due limit 1')
      ],
      [
        ['SEARCH event USING INDEX event_of_pattern (pattern=? AND position>?)'],
        ['SEARCH pending USING INDEX pending_by_due (grp=? AND due<?)'],
        ['SEARCH pending USING COVERING INDEX pending_by_due (grp=? AND due>?)']
      ]
    )
  })
})

/** The events that a group owes: each until it is done, with the number of its begun runs. */
class Model {
  readonly owed = new Map<string, number>()
  readonly held: TakenEvent[] = []
}

describe('whatever happens to the events of a group', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('publish' as const), count: fc.integer({ min: 1, max: 5 }) }),
    fc.record({
      kind: fc.constant('take' as const),
      count: fc.integer({ min: 1, max: 4 }),
      isBeginning: fc.boolean()
    }),
    fc.record({
      kind: fc.constantFrom('done' as const, 'back' as const, 'later' as const, 'dead' as const),
      at: fc.nat(9)
    }),
    fc.record({ kind: fc.constantFrom('kill' as const, 'redrive' as const), at: fc.constant(0) })
  )

  for (const [name, driver] of Object.entries(drivers))
    it(`each is there until it is done, with its runs, and the lag is their number, by ${name}`, () => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, isWide) => {
          const given = new OpenLog(driver)
          const pattern = isWide ? 'a.*' : 'a.b'
          let group: Group = given.join('g', pattern)
          const { owed, held } = new Model()
          const letters = new Set<string>()
          let published = 0
          let now = 0
          for (const one of steps) {
            now++
            if (one.kind === 'publish') {
              for (let n = 0; n < one.count; n++) owed.set(String(++published), 0)
              const first = published - one.count + 1
              given.publish(
                now,
                ...Array.from({ length: one.count }, (_, n) => ({ id: String(first + n), pattern: 'a.b' })),
                { pattern: 'other' }
              )
            } else if (one.kind === 'take') {
              for (const event of given.take(group, one.count, now, one.isBeginning)) {
                assert.equal(event.attempt, (owed.get(event.id) as number) + 1)
                assert.ok(!held.some(({ id }) => id === event.id), 'nobody has it')
                if (one.isBeginning) owed.set(event.id, event.attempt)
                held.push(event)
              }
            } else if (one.kind === 'kill') {
              given.restart()
              group = given.join('g', pattern)
              held.length = 0
            } else if (one.kind === 'redrive') {
              const [letter] = given.letters.page('g', 1, 1)
              if (letter === undefined) continue
              given.groups.redrive('g', Number(letter.position))
              letters.delete(letter.id)
              owed.set(letter.id, 0)
            } else if (held.length > 0) {
              const [event] = held.splice(one.at % held.length, 1) as [TakenEvent]
              if (one.kind === 'back' || one.kind === 'later')
                given.settle(group, { kind: 'back', event, pause: one.kind === 'back' ? 0 : 5 }, now)
              else {
                owed.delete(event.id)
                if (one.kind === 'dead') letters.add(event.id)
                const { kind } = one
                given.settle(
                  group,
                  kind === 'done' ? { kind, event } : { kind, event, reason: '', died: now }
                )
              }
            }
            assert.equal(given.groups.lag(group), owed.size)
          }
          assert.deepEqual(new Set(given.letters.page('g', 1, 1_000).map(({ id }) => id)), letters)
          given.restart()
          group = given.join('g', pattern)
          const rest: string[] = []
          for (
            let more = given.take(group, 3, now + 10);
            more.length > 0;
            more = given.take(group, 3, now + 10)
          )
            rest.push(...ids(more))
          assert.deepEqual(new Set(rest), new Set(owed.keys()))
          assert.equal(rest.length, owed.size)
        }),
        { numRuns: 100 }
      )
    })
})

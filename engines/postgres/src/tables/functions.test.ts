/** The functions of the tables, over PostgreSQL inside the process. */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import type { Settling, TakenRow } from '../connection/turn.ts'
import { PostgresDeadLetters } from '../durable/dead-letters.ts'
import { Embedded, EmbeddedGroup } from '../testing/embedded.ts'

let database: Embedded
before(async () => {
  database = await Embedded.open()
})
afterEach(async () => {
  const wrong = await database.query(
    `select g.name, elysia_microservices.pending_of(g.id), count(p) from elysia_microservices.grp as g
      left join elysia_microservices.pending as p on p.grp = g.id group by g.id
      having elysia_microservices.pending_of(g.id) <> count(p)`
  )
  assert.deepEqual(wrong, [], 'events that come back are counted wrongly')
})
after(() => database.close())

/** A group with these events, which its process has taken. */
async function taken(ids: readonly string[], isTransactional = false) {
  const group = await new EmbeddedGroup(database, isTransactional).join()
  await group.publish(ids)
  const { came } = await group.turn()
  assert.deepEqual(
    came,
    ids.map((id) => `${id} 1`)
  )
  return group
}

describe('an id', () => {
  it('is stored once within its window, one by one and together', async () => {
    const group = await new EmbeddedGroup(database).join()
    const [first] = await group.publish(['a'])
    const again = await group.publish(['a'])
    const together = await group.publish(['a', 'b', 'b'])
    assert.deepEqual([first?.isDuplicate, again], [false, [{ ...first, isDuplicate: true }]])
    assert.deepEqual(
      together.map(({ isDuplicate }) => isDuplicate),
      [true, false, true]
    )
    assert.deepEqual((await group.turn()).came, ['a 1', 'b 1'])
    const [later] = await group.publish(['a'], undefined, {}, 0)
    assert.equal(later?.isDuplicate, false)
  })

  it('is that of one event while it waits for its time, and within its window then', async () => {
    const group = await new EmbeddedGroup(database).join()
    const [waits] = await group.publish(['a'], undefined, { delay: 3_600_000 })
    assert.deepEqual(waits, { position: undefined, isDuplicate: false, isHeld: false })
    assert.deepEqual(await group.publish(['a']), [{ ...waits, isDuplicate: true }])
    assert.equal(await database.tables.fire(group.pattern, 'a'), true)
    assert.deepEqual((await group.turn()).came, ['a 1'])
    assert.equal((await group.publish(['a']))[0]?.isDuplicate, true)
    assert.equal(await database.tables.fire(group.pattern, 'a'), false)
  })
})

describe('an event whose transaction ends after those of later ones', () => {
  const begin = async (count: number) => {
    const all: Awaited<ReturnType<Embedded['begin']>>[] = []
    while (all.length < count) all.push(await database.begin())
    return all
  }
  const holes = () => database.query('select * from elysia_microservices.hole')

  it('is not passed over, whichever ends first, and nothing waits for it', async () => {
    const group = await new EmbeddedGroup(database).join()
    const ids = ['first', 'second', 'undone', 'third']
    const open = await begin(ids.length)
    for (const [at, one] of open.entries()) await one.publish(group.pattern, ids[at] as string)
    const [first, second, undone, third] = open
    await group.publish(['quick'])
    assert.deepEqual((await group.turn()).came, ['quick 1'])
    assert.deepEqual((await group.turn()).came, [])
    await second?.commit()
    assert.deepEqual((await group.turn()).came, ['second 1'])
    await undone?.rollback()
    assert.deepEqual((await group.turn()).came, [])
    await third?.commit()
    assert.deepEqual((await group.turn()).came, ['third 1'])
    await first?.commit()
    assert.deepEqual((await group.turn()).came, ['first 1'])
    assert.deepEqual((await group.turn()).came, [])
    assert.deepEqual([await holes(), await database.tables.lag(group.name)], [[], 4])
  })

  it('is found when it ends at last, however long that takes', async () => {
    const group = await new EmbeddedGroup(database).join()
    const [one, other] = await begin(2)
    await one?.publish(group.pattern, 'one')
    await other?.publish(group.pattern, 'other')
    await group.publish(['quick'])
    assert.deepEqual((await group.turn()).came, ['quick 1'])
    await database.query("update elysia_microservices.hole set noted = noted - interval '1 minute'")
    for (let turns = 0; turns < 2; turns++) assert.deepEqual((await group.turn()).came, [])
    await group.publish(['later'])
    assert.deepEqual((await group.turn()).came, ['later 1'])
    await other?.commit()
    assert.deepEqual((await group.turn()).came, ['other 1'])
    await one?.commit()
    assert.deepEqual((await group.turn()).came, ['one 1'])
    assert.deepEqual(await holes(), [])
  })

  it('comes before later ones of its key that an ordered group has not got', async () => {
    const group = await new EmbeddedGroup(database).join(true)
    const [open] = await begin(1)
    await open?.publish(group.pattern, 'early', 'k')
    await group.publish(['quick'])
    await group.publish(['next'], 'k')
    assert.deepEqual((await group.turn([], undefined, group.process, 1)).came, ['quick 1'])
    await open?.commit()
    assert.deepEqual((await group.turn()).came, ['early 1', 'next 1'])
  })

  it('is for a group that has begun meanwhile, if it begins with all, or with new ones', async () => {
    const group = new EmbeddedGroup(database)
    const { name, pattern } = group
    const [open] = await begin(1)
    await open?.publish(pattern, 'open')
    await group.publish(['before'])
    const fresh = await database.tables.join(`${name} new`, pattern, null, false, { kind: 'new' })
    await group.join()
    await open?.commit()
    const wanted = [fresh.id, group.id].map((id) => ({ id, most: 9, back: 9 }))
    const { taken } = await database.tables.turn(group.process, 60_000, [], [], wanted, false)
    const came = (id: number) => taken.flatMap((row) => (row.group === id ? [row.id] : [])).sort()
    assert.deepEqual([fresh.skipped, came(fresh.id), came(group.id)], [1, ['open'], ['before', 'open']])
  })
})

describe('what becomes of events', () => {
  it('is written once: a second time it is the fate of a batch that is gone', async () => {
    const group = await taken(['a', 'b', 'c'])
    const settled = group.settling({ back: ['b'], dead: ['c'] })
    assert.deepEqual((await group.turn([settled])).came, ['b 2'])
    const again = await group.turn([settled])
    assert.deepEqual([again.lost, again.came], [[settled.batch], []])
    const letters = await database.tables.letters(group.name, '0', 10)
    assert.deepEqual(
      letters.map(({ id, attempts }) => [id, attempts]),
      [['c', 1]]
    )
  })

  it('leaves those that still run with their process', async () => {
    const group = await taken(['a', 'b'])
    const settled = group.settling({ left: ['b'] })
    assert.deepEqual((await group.turn([settled])).came, [])
    assert.deepEqual(await group.turn([], undefined, 'other').then(({ came }) => came), [])
    assert.deepEqual((await group.turn([{ ...settled, left: [] }])).lost, [])
    assert.equal(await database.tables.lag(group.name), 0)
  })

  it('makes a dead letter of its own group, which comes back from its first attempt on, and is over then', async () => {
    const group = await taken(['a'])
    const other = await new EmbeddedGroup(database).join()
    await group.turn([group.settling({ dead: ['a'] })])
    const { tables } = database
    const [letter] = await tables.letters(group.name, '0', 10)
    const place = String(letter?.['place'])
    assert.deepEqual(await tables.letters(other.name, '0', 10), [])
    assert.deepEqual(
      [await tables.redrive(other.name, place), await tables.discard(other.name, place)],
      [false, false]
    )
    assert.equal(await tables.redrive(group.name, place), true)
    assert.equal(await tables.redrive(group.name, place), false)
    assert.deepEqual((await group.turn()).came, ['a 1'])
    await group.turn([group.settling({}, [place])])
    assert.deepEqual((await group.turn()).came, [])
    assert.deepEqual(
      await database.query('select from elysia_microservices.letter where grp = $1', group.id),
      []
    )
  })
})

describe('a process without a sign of life', () => {
  it('loses its events to others, as begun, and what it says of them then does nothing', async () => {
    const group = await taken(['a', 'b'])
    const late = group.settling({ dead: ['a'] })
    await group.silence()
    assert.deepEqual((await group.turn([], undefined, 'other')).came, ['a 2', 'b 2'])
    assert.deepEqual((await group.turn([late])).lost, [late.batch])
    assert.deepEqual(await database.tables.letters(group.name, '0', 10), [])
  })

  it('keeps them while it gives signs, and gives them up at its end', async () => {
    const group = await taken(['a'])
    await group.turn()
    assert.deepEqual((await group.turn([], undefined, 'other')).came, [])
    await database.tables.leave(group.process)
    assert.deepEqual((await group.turn([], undefined, 'other')).came, ['a 2'])
  })

  it('that never heard of a turn that has taken events has not begun them', async () => {
    const group = await taken(['a'])
    group.known = []
    // A turn that does not look everywhere may pass over what has a number that was heard of.
    assert.deepEqual((await group.turn([], { batch: 1e9 })).came, [])
    assert.deepEqual((await group.turn()).came, ['a 1'])
  })
})

describe('an event of a transactional handler', () => {
  it('is done by its acknowledgement alone, and comes back if that was rolled back', async () => {
    const group = await taken(['a', 'b', 'c'], true)
    const [a, , c] = [...group.has.values()]
    assert.equal(a && (await database.acknowledge(a)), true)
    // The second time, or after another process has it, its transaction cannot be committed.
    assert.equal(a && (await database.acknowledge(a)), false)
    const settled = group.settling({ discarded: ['c'] })
    assert.deepEqual((await group.turn([settled])).came, ['b 2'])
    assert.equal(c && (await database.acknowledge(c)), false)
  })

  it('cannot be acknowledged by a process that has lost it', async () => {
    const group = await taken(['a'], true)
    const [a] = [...group.has.values()]
    await group.silence()
    assert.deepEqual((await group.turn([], undefined, 'other')).came, ['a 2'])
    assert.equal(a && (await database.acknowledge(a)), false)
    const [again] = [...group.has.values()]
    assert.equal(again && (await database.acknowledge(again)), true)
  })
})

describe('an ordered group', () => {
  it('leaves the later events of a key to the process that has the first, and takes others', async () => {
    const group = await new EmbeddedGroup(database).join(true)
    await group.publish(['a1'], 'a')
    assert.deepEqual((await group.turn()).came, ['a1 1'])
    await group.publish(['a2'], 'a')
    await group.publish(['b1'], 'b')
    assert.deepEqual((await group.turn([], undefined, 'other')).came, ['b1 1'])
    assert.deepEqual((await group.turn()).came, ['a2 1'])
  })

  it('counts no run of what waits for another of its key, if nobody heard of the turn that has taken them', async () => {
    const group = await new EmbeddedGroup(database).join(true)
    await group.publish(['a1', 'a2'], 'a')
    assert.deepEqual((await group.turn()).came, ['a1 1', 'a2 1'])
    group.known = []
    assert.deepEqual((await group.turn()).came, ['a1 1', 'a2 1'])
  })
})

describe('events that come back to an ordered group', () => {
  /** The words of a process that gives events back before they have begun. */
  const given = (group: EmbeddedGroup, ids: readonly string[]): Settling => {
    const back = ids
      .map((id) => group.has.get(id) as TakenRow)
      .map((row) => ({ ...row, attempt: row.attempt - 1, lock: 'k', delay: 0 }))
    return { ...group.settling({}), back }
  }

  it('are in its order again, also if they were given back later, and are taken by one process', async () => {
    const group = await new EmbeddedGroup(database).join(true)
    await group.publish(['a', 'b', 'c'], 'k')
    assert.deepEqual((await group.turn()).came, ['a 1', 'b 1', 'c 1'])
    const has = [...group.has.values()]
    const settled = given(group, ['b', 'c'])
    for (const row of has) group.has.set(row.id, row)
    const left = { position: has[0]?.position ?? '', letter: '0', attempt: 1, lock: 'k' }
    await group.turn([{ ...settled, left: [left] }], undefined, group.process, 0)
    // The first of the key still runs.
    assert.deepEqual((await group.turn([], undefined, 'other')).came, [])
    assert.deepEqual(await database.tables.lag(group.name), 3)
    await group.turn([given(group, ['a'])], undefined, group.process, 0)
    assert.deepEqual((await group.turn([], undefined, 'other', 2)).came, ['a 1', 'b 1'])
    assert.deepEqual((await group.turn()).came, [])
    assert.deepEqual((await group.turn([], undefined, 'other', 9)).came, ['a 1', 'b 1', 'c 1'])
    assert.deepEqual(await database.tables.lag(group.name), 3)
  })

  it('are found behind any bound', async () => {
    const group = await new EmbeddedGroup(database).join(true)
    await group.publish(['a', 'b'], 'k')
    await group.turn([], undefined, group.process, 1)
    const far = { later: 4e12, [group.id]: 4e12 }
    await group.turn([given(group, ['a'])], far, group.process, 0)
    assert.deepEqual((await group.turn([], far)).came, ['a 1', 'b 1'])
  })

  it('wait in the backlog', async () => {
    const group = await new EmbeddedGroup(database).join(true)
    await group.publish(['a'], 'k')
    await group.turn()
    const running = await database.tables.backlog([group.id], undefined, 10)
    await group.turn([given(group, ['a'])], undefined, group.process, 0)
    const waiting = await database.tables.backlog([group.id], undefined, 10)
    assert.deepEqual(
      [...running, ...waiting].map(({ id, due, attempt }) => [id, due === null, attempt]),
      [
        ['a', true, '1'],
        ['a', false, '0']
      ]
    )
  })
})

describe('the count of events that come back', () => {
  it('goes on when its process has ended, and is corrected when nothing comes back', async () => {
    const group = await taken(['a', 'b'])
    await group.turn([group.settling({ back: ['a', 'b'] })], undefined, group.process, 0)
    await group.silence()
    await group.turn([], undefined, 'heir', 0)
    assert.deepEqual(
      await database.query('select from elysia_microservices.process where id = $1', group.process),
      []
    )
    assert.equal(await database.tables.lag(group.name), 2)
    await database.query('delete from elysia_microservices.pending where grp = $1', group.id)
    assert.equal(await database.tables.lag(group.name), 2)
    await group.publish(['c'])
    await group.turn([], { batch: 0 }, 'heir')
    await group.turn([], [group.id], 'heir')
    await group.publish(['d'])
    await group.turn([], [group.id], 'heir')
    assert.equal(await database.tables.lag(group.name), 2)
  })
})

describe('a log with a limit', () => {
  const kept = async () =>
    Number((await database.query('select elysia_microservices.kept_bytes() as bytes'))[0]?.['bytes'])
  const body = '{"data":1}'
  const publish = (ids: readonly string[], pattern: string, limit: number, window = 120_000) =>
    database.tables.store(
      ids.map((id) => ({ pattern, id, key: undefined, headers: undefined, body })),
      window,
      true,
      limit
    )

  it('stores what there is room for, and says of all behind it that it is full; it knows what it has', async () => {
    await database.tables.advance()
    const before = await kept()
    const limit = before + 2.5 * body.length
    const told = await publish(['a', 'b', 'c', 'a', 'd'], 'limit', Math.floor(limit))
    assert.deepEqual(
      told.map(({ position, isDuplicate, full }) => [position !== undefined, isDuplicate, full]),
      [
        [true, false, undefined],
        [true, false, undefined],
        [false, false, before + 2 * body.length],
        [true, true, undefined],
        [false, false, before + 2 * body.length]
      ]
    )
    await database.tables.advance()
    assert.equal(await kept(), before + 2 * body.length)
    assert.deepEqual((await publish(['e'], 'limit', before))[0]?.full, before + 2 * body.length)
    const full = before + 3 * body.length
    assert.deepEqual((await publish(['f'], 'limit', full - 1))[0]?.full, before + 2 * body.length)
    assert.equal((await publish(['f'], 'limit', full))[0]?.full, undefined)
    await database.tables.advance()
    await database.query("update elysia_microservices.event set published = now() - interval '2 hours'")
    await database.tables.prune(3_600_000, 1_000)
    const stored = await database.query(
      'select coalesce(sum(elysia_microservices.size_of(headers, body)), 0)::integer as bytes from elysia_microservices.event'
    )
    assert.equal(await kept(), stored[0]?.['bytes'])
  })
})

describe('what is due', () => {
  it('is found behind bounds, and everything without them', async () => {
    const group = await taken(['a', 'b'])
    const { bounds } = await group.turn([group.settling({ back: ['a', 'b'] })], [group.id], group.process, 1)
    assert.deepEqual(Object.keys(bounds ?? {}).sort(), [String(group.id), 'later'])
    // One of the two is left, and the bound is not behind it.
    assert.deepEqual((await group.turn([], bounds ?? {})).came.length, 1)
    const far = { later: 4e12, [group.id]: 4e12 }
    await group.turn([group.settling({ back: [...group.has.keys()] })], far, group.process, 0)
    assert.deepEqual((await group.turn([], far)).came, [])
    assert.equal((await group.turn([], far)).bounds, null)
    assert.equal((await group.turn([], [group.id])).came.length, 1)
  })

  it('of the future comes when it is due, and not before', async () => {
    const group = await new EmbeddedGroup(database).join()
    await group.publish(['later'], undefined, { delay: 3_600_000 })
    await group.publish(['soon'], undefined, { delay: 3_600_000 })
    assert.deepEqual((await group.turn()).came, [])
    await database.query(
      "update elysia_microservices.later set due = now() where pattern = $1 and id = 'soon'",
      group.pattern
    )
    await group.turn()
    assert.deepEqual((await group.turn()).came, ['soon 1'])
    assert.equal(await database.tables.cancel(group.pattern, 'later'), true)
    assert.equal(await database.tables.cancel(group.pattern, 'later'), false)
  })
})

describe('a group', () => {
  it('is one for each name and each pattern, made once', async () => {
    const join = async (name: string, pattern: string) =>
      (await database.tables.join(name, pattern, null, false, { kind: 'all' })).id
    const ids = [await join('one', 'same'), await join('other', 'same'), await join('one', 'different')]
    assert.equal(new Set(ids).size, 3)
    assert.ok(ids.every((id) => id > 0))
    assert.deepEqual([await join('one', 'same'), await join('other', 'same')], ids.slice(0, 2))
  })

  it('gets what was published before it if it begins with all, and nothing of that if it is new', async () => {
    const group = new EmbeddedGroup(database)
    await group.publish(['a', 'b'])
    const fresh = await database.tables.join('fresh', group.pattern, null, false, { kind: 'new' })
    assert.equal(fresh.skipped, 2)
    await group.join()
    assert.deepEqual((await group.turn()).came, ['a 1', 'b 1'])
    assert.deepEqual(await database.tables.figures([fresh.id]), [{ id: fresh.id, paused: false, lag: 0 }])
  })

  it('takes nothing while it is paused, and counts what waits', async () => {
    const group = await new EmbeddedGroup(database).join()
    await group.publish(['a', 'b'])
    await database.tables.pause(group.name, true)
    assert.deepEqual((await group.turn()).came, [])
    assert.deepEqual(await database.tables.figures([group.id]), [{ id: group.id, paused: true, lag: 2 }])
    await database.tables.pause(group.name, false)
    assert.deepEqual((await group.turn([], undefined, group.process, 1)).came, ['a 1'])
    assert.deepEqual((await group.turn()).came, ['b 1'])
  })
})

describe('what is too old', () => {
  it('is deleted behind what was deleted before, and from the beginning', async () => {
    const group = await new EmbeddedGroup(database).join()
    await group.publish(['a', 'b'])
    await group.turn()
    const count = async () =>
      (
        await database.query(
          'select count(*)::integer as count from elysia_microservices.event where pattern = $1',
          group.pattern
        )
      )[0]?.['count']
    assert.equal((await database.tables.prune(3_600_000, 1_000)).more, false)
    assert.equal(await count(), 2)
    await database.query("update elysia_microservices.event set published = now() - interval '2 hours'")
    const all = { deleted: '999999', forgotten: 0 }
    await database.tables.prune(3_600_000, 1_000, all)
    assert.equal(await count(), 2)
    const pruned = await database.tables.prune(3_600_000, 1_000)
    assert.deepEqual([await count(), Number(pruned.deleted) > 0, pruned.more], [0, true, false])
  })

  it('is what was published before: an event of a clock that was wrong makes none before it old, and keeps none', async () => {
    const { tables } = database
    const group = await new EmbeddedGroup(database).join()
    await database.query("update elysia_microservices.event set published = now() - interval '3 hours'")
    await group.publish(['ahead', 'old', 'fresh', 'behind', 'last'])
    await tables.advance()
    const times = { ahead: '1 year', old: '-2 hours', fresh: '0', behind: '-1 year', last: '0' }
    for (const [id, time] of Object.entries(times))
      await database.query(
        `update elysia_microservices.event set published = now() + interval '${time}' where id = $1 and pattern = $2`,
        id,
        group.pattern
      )
    await tables.prune(3_600_000, 1_000)
    const left = await database.query(
      'select id from elysia_microservices.event where pattern = $1 order by position',
      group.pattern
    )
    assert.deepEqual(
      left.map(({ id }) => id),
      ['fresh', 'behind', 'last']
    )
  })

  it('is missed by nobody if all groups have had it', async () => {
    const { tables } = database
    const group = await new EmbeddedGroup(database).join()
    await group.publish(['a'])
    await group.turn()
    await database.query("update elysia_microservices.event set published = now() - interval '2 hours'")
    // Groups of other tests may have missed theirs.
    await database.query('delete from elysia_microservices.grp where id <> $1', String(group.id))
    const pruned = await tables.prune(3_600_000, 1_000)
    const left = await database.query('select from elysia_microservices.event')
    assert.deepEqual([left.length, pruned.missed], [0, []])
  })

  it('waits for no group any more: each is told what it has missed, and its lag is right', async () => {
    const { tables } = database
    const quick = await new EmbeddedGroup(database).join()
    const joined = await tables.join('slow', quick.pattern, null, false, { kind: 'all' })
    const wide = await tables.join('wide', `${quick.pattern}*`, `^${quick.pattern}$`, true, { kind: 'all' })
    await quick.publish(['a', 'b', 'c'])
    assert.deepEqual((await quick.turn()).came, ['a 1', 'b 1', 'c 1'])
    await database.query(
      "update elysia_microservices.event set published = now() - interval '2 hours' where pattern <> $1 or id < 'c'",
      quick.pattern
    )
    const { missed } = await tables.prune(3_600_000, 1_000)
    const theirs = missed.filter(({ group }) => group === 'slow' || group === 'wide')
    assert.deepEqual(theirs.map(({ group, count }) => `${group} ${count}`).sort(), ['slow 2', 'wide 2'])
    const lags = new Map(
      (await tables.figures([quick.id, joined.id, wide.id])).map(({ id, lag }) => [id, lag])
    )
    // Its process has these.
    assert.deepEqual([lags.get(quick.id), lags.get(joined.id), lags.get(wide.id)], [3, 1, 1])
  })
})

describe('much that is too old', () => {
  it('is deleted a step at a time, events and ids, until there is no more', async () => {
    const { tables } = database
    const group = new EmbeddedGroup(database)
    const left = async (table: string) =>
      (await database.query(`select count(*)::integer as count from elysia_microservices.${table}`))[0]?.[
        'count'
      ]
    const age = () =>
      database.query("update elysia_microservices.event set published = now() - interval '2 hours'")
    await age()
    await tables.prune(3_600_000, 0)
    assert.deepEqual([await left('event'), await left('recent')], [0, 0])
    await group.publish(Array.from({ length: 501 }, (_, n) => `old ${n}`))
    // It reads the log to its end.
    await group.join()
    await age()
    const steps: unknown[] = []
    for (const [maxAge, table] of [
      [0, 'recent'],
      [3_600_000, 'event']
    ] as const)
      for (let step = 0; step < 2; step++) steps.push((await tables.prune(maxAge, 0)).more, await left(table))
    assert.deepEqual(steps, [true, 1, false, 0, true, 1, false, 0])
  })
})

describe('a group that is new', () => {
  it('begins with the first event there is, behind a position, at a time, or with what comes then', async () => {
    const { tables } = database
    const log = new EmbeddedGroup(database)
    // Nothing of other tests is before its events.
    await database.query("update elysia_microservices.event set published = now() - interval '5 hours'")
    await tables.prune(3_600_000, 1_000)
    const [first] = await log.publish(['a', 'b', 'c'])
    for (const [id, hours] of Object.entries({ a: 3, b: 2, c: 1 }))
      await database.query(
        `update elysia_microservices.event set published = now() - interval '${hours} hours' where id = $1`,
        id
      )
    const since = new Date(Date.now() - 2.5 * 3_600_000)
    for (const [start, ids, skipped] of [
      [{ kind: 'all' }, ['a', 'b', 'c'], 0],
      [{ kind: 'after', after: first?.position ?? '' }, ['b', 'c'], 0],
      [{ kind: 'after', after: '999999' }, [], 0],
      [{ kind: 'since', since }, ['b', 'c'], 0],
      [{ kind: 'new' }, [], 3]
    ] as const) {
      const what = JSON.stringify(start)
      const joined = await tables.join(`begins ${what}`, log.pattern, null, false, start)
      assert.equal(joined.skipped, skipped, what)
      assert.deepEqual((await tables.figures([joined.id]))[0]?.lag, ids.length, what)
      const wanted = [{ id: joined.id, most: 9, back: 9 }]
      const { taken } = await tables.turn(what, 60_000, [], [], wanted, false)
      assert.deepEqual(
        taken.map(({ id }) => id),
        ids,
        what
      )
    }
  })
})

/** A text that makes an event of some bytes. */
const large = (bytes: number) => JSON.stringify({ data: 'x'.repeat(bytes) })

describe('many large events', () => {
  it('come in several turns, one handler after the other, whatever their number', async () => {
    const groups = await Promise.all(Array.from({ length: 8 }, () => new EmbeddedGroup(database).join()))
    for (const { pattern } of groups)
      await database.tables.store(
        [{ ...{ pattern, id: pattern, key: undefined, headers: undefined }, body: large(6_000_000) }],
        120_000
      )
    const wanted = groups.map(({ id }) => ({ id, most: 10, back: 10 }))
    const ids = groups.map(({ id }) => id)
    const known: string[] = []
    const turn = async (from: number) => {
      const asked = wanted.slice(from)
      const { taken, until } = await database.tables.turn('large', 60_000, [], known, asked, false)
      known.push(...taken.map(({ batch }) => batch))
      return [taken.map(({ group }) => ids.indexOf(group)), until]
    }
    assert.deepEqual(await turn(0), [[0, 1, 2], ids[2]])
    assert.deepEqual(await turn(3), [[3, 4, 5], ids[5]])
    assert.deepEqual(await turn(6), [[6, 7], null])
    await database.tables.leave('large')
  })

  it('are listed in parts: those that wait for their time, the backlog, and dead letters', async () => {
    const group = await new EmbeddedGroup(database).join()
    const ids = ['a', 'b', 'c', 'd', 'e']
    const { pattern, name } = group
    const events = (given: object) =>
      ids.map((id) => ({
        ...{ pattern, id: `${id}${'delay' in given}`, key: undefined, headers: undefined },
        ...{ body: large(1_500_000), ...given }
      }))
    await database.tables.store(events({ delay: 3_600_000 }), 120_000)
    await database.tables.store(events({}), 120_000)
    const { tables } = database
    const idsOf = (rows: readonly Record<string, unknown>[]) => rows.map(({ id }) => String(id)[0])
    const waiting = await tables.waiting(pattern, undefined, 100)
    assert.deepEqual(idsOf(waiting), ['a', 'b', 'c'])
    const foundOf = (rows: readonly Record<string, unknown>[]) => rows.at(-1)?.['found']
    assert.equal(foundOf(waiting), 5)
    assert.deepEqual(idsOf(await tables.waiting(pattern, waiting[2], 100)), ['d', 'e'])
    const backlog = await tables.backlog([group.id], undefined, 100)
    assert.deepEqual(idsOf(backlog), ['a', 'b', 'c'])
    assert.deepEqual([foundOf(backlog), foundOf(await tables.backlog([group.id], backlog[2], 100))], [5, 2])
    assert.deepEqual(idsOf(await tables.backlog([group.id], backlog[2], 100)), ['d', 'e'])
    const { came } = await group.turn()
    await group.turn([group.settling({ dead: came.map((one) => one.split(' ')[0] as string) })])
    const letters = await tables.letters(name, '1', 100)
    assert.deepEqual(idsOf(letters), ['a', 'b', 'c'])
    const behind = String(Number(letters[2]?.['place']) + 1)
    assert.deepEqual(idsOf(await tables.letters(name, behind, 100)), ['d', 'e'])
    const all: unknown[] = []
    for await (const { id } of new PostgresDeadLetters(name, async () => tables).list()) all.push(id)
    assert.equal(all.length, 5)
  })
})

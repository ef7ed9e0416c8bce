/** The tables and functions: commits in any order, keys, processes that end. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { databaseOf } from '@elysia-microservices/outbox/database'
import { drive } from '@elysia-microservices/outbox/testing'
import { Log } from '@elysia-microservices/test-support'
import { type EventTime, memory } from '@elysia-microservices/transport'
import { connect } from 'elysia-microservices/client'
import pg from 'pg'
import { storeEvents } from './connection/in-transaction.ts'
import { answeredState } from './connection/lost.ts'
import { Tables } from './connection/tables.ts'
import type { TakenRow } from './connection/turn.ts'
import { PostgresDeadLetters } from './durable/dead-letters.ts'
import { type PostgresStore, postgres } from './index.ts'
import { databases } from './testing/database.ts'

const { database, cleanUp } = databases()
const { logger } = new Log()
const calls = { ...memory(), name: 'calls' }

/** A transaction that stays open. */
async function transaction(url: string, store: PostgresStore) {
  const client = new pg.Client(url)
  await client.connect()
  cleanUp(() => client.end())
  await client.query('begin')
  return {
    publish: (id: string, key?: string, time: EventTime = {}) =>
      store.in(client).publish('e', id, { id, ...(key !== undefined && { key }), ...time }),
    end: (how: 'commit' | 'rollback') => client.query(how)
  }
}

const idsOf = (taken: readonly TakenRow[]) => taken.map(({ id }) => id)

describe('the log in PostgreSQL', () => {
  it('loses no event whose transaction ends after those of later events, and waits for none', async () => {
    const { url, sql, tables, query } = await database()
    const store = postgres({ sql })
    const { id } = await tables.join('g', 'e', null, false, { kind: 'all' })
    const known: string[] = []
    const take = async () => {
      const { taken } = await tables.turn('p', 60_000, [], known, [{ id, most: 100, back: 100 }], false)
      known.push(...taken.map(({ batch }) => batch))
      return idsOf(taken)
    }
    const [slow, undone, quick] = [
      await transaction(url, store),
      await transaction(url, store),
      await transaction(url, store)
    ] as const
    await slow.publish('slow')
    await undone.publish('undone')
    await quick.publish('quick')
    await quick.end('commit')
    assert.deepEqual(await take(), ['quick'])
    assert.deepEqual(await take(), [])
    await slow.end('commit')
    await undone.end('rollback')
    assert.deepEqual(await take(), ['slow'])
    assert.deepEqual(await take(), [])
    assert.deepEqual(await query('select * from elysia_microservices.hole'), [])
    const [figures] = await tables.figures([id])
    assert.equal(figures?.lag, 2)
  })

  it('gives a new group the events of transactions that end later, and of those before what its start says', async () => {
    const { url, sql, tables } = await database()
    const store = postgres({ sql })
    const open = await transaction(url, store)
    await open.publish('open')
    await tables.store(
      [{ pattern: 'e', id: 'before', key: undefined, headers: undefined, body: '{}', due: undefined }],
      1_000
    )
    const all = await tables.join('all', 'e', null, false, { kind: 'all' })
    const fresh = await tables.join('fresh', 'e', null, false, { kind: 'new' })
    assert.deepEqual([all.skipped, fresh.skipped], [0, 1])
    await open.end('commit')
    const wanted = [all, fresh].map(({ id }) => ({ id, most: 100, back: 100 }))
    const { taken } = await tables.turn('p', 60_000, [], [], wanted, false)
    const byGroup = (group: number) => idsOf(taken.filter((row) => row.group === group)).sort()
    assert.deepEqual([byGroup(all.id), byGroup(fresh.id)], [['before', 'open'], ['open']])
  })

  it('gives no event before an earlier one of its key that was found late, behind many that wait', async () => {
    const { url, sql, tables } = await database()
    const { id } = await tables.join('g', 'e', null, true, { kind: 'all' })
    const event = { pattern: 'e', headers: undefined, body: '{}', due: undefined }
    const most = 2
    const take = async (owner: string) =>
      idsOf((await tables.turn(owner, 60_000, [], [], [{ id, most, back: most }], false)).taken)
    await tables.store([{ ...event, id: 'first', key: 'held' }], 1_000)
    assert.deepEqual(await take('other'), ['first'])
    const slow = await transaction(url, postgres({ sql }))
    // More than a turn reads of those that were found late.
    for (let n = 0; n < most + 70; n++) await slow.publish(`waits ${n}`, 'held')
    await slow.publish('early', 'k')
    await tables.store([{ ...event, id: 'quick', key: undefined }], 1_000)
    assert.deepEqual(await take('mine'), ['quick'])
    await slow.end('commit')
    await tables.store([{ ...event, id: 'next', key: 'k' }], 1_000)
    // A process that knows of no batch gets its events again.
    assert.deepEqual(await take('mine'), ['quick'])
    assert.deepEqual(await take('mine'), ['quick', 'early'])
    assert.deepEqual(await take('third'), [])
  })

  it('gives the events of a key in their order to a group that lags, though later ones were found late', async () => {
    const { url, sql, tables } = await database()
    const { id } = await tables.join('g', 'e', null, true, { kind: 'all' })
    const event = { pattern: 'e', headers: undefined, body: '{}', due: undefined }
    const publish = (one: string, key?: string) => tables.store([{ ...event, id: one, key }], 1_000)
    await publish('first')
    await publish('early', 'k')
    const slow = await transaction(url, postgres({ sql }))
    await slow.publish('late', 'k')
    await publish('quick')
    const known: string[] = []
    const take = async (most: number) => {
      const { taken } = await tables.turn('p', 60_000, [], known, [{ id, most, back: most }], false)
      known.push(...taken.map(({ batch }) => batch))
      return idsOf(taken)
    }
    assert.deepEqual(await take(1), ['first'])
    await slow.end('commit')
    assert.deepEqual(await take(9), ['early', 'late', 'quick'])
    assert.deepEqual(await take(9), [])
    const [figures] = await tables.figures([id])
    assert.equal(figures?.lag, 4)
  })

  it('gives the events of a process without signs of life to another one, with the runs that have begun', async () => {
    const { tables, query } = await database()
    const { id } = await tables.join('g', 'e', null, true, { kind: 'all' })
    const event = { pattern: 'e', key: 'k', headers: undefined, body: '{}', due: undefined }
    await tables.store(
      ['a', 'b'].map((one) => ({ ...event, id: one })),
      1_000
    )
    const wanted = [{ id, most: 100, back: 100 }]
    const first = await tables.turn('dead', 60_000, [], [], wanted, false)
    assert.deepEqual(idsOf(first.taken), ['a', 'b'])
    assert.deepEqual((await tables.turn('other', 60_000, [], [], wanted, false)).taken, [])
    await query(
      "update elysia_microservices.process set seen = seen - interval '2 minutes' where id = 'dead'"
    )
    const { taken } = await tables.turn('other', 60_000, [], [], wanted, false)
    assert.deepEqual(
      taken.map((row) => [row.id, row.attempt]),
      [
        ['a', 2],
        ['b', 1]
      ]
    )
    const batch = (first.taken[0] as TakenRow).batch
    // Whether it has settled some of them or none, and once.
    const settled = [{ batch, left: [], back: [], dead: [], discarded: [], over: [] }]
    for (const [said, known] of [
      [settled, []],
      [[], [batch]],
      [settled, [batch]]
    ] as const)
      assert.deepEqual((await tables.turn('dead', 60_000, said, known, [], false)).lost, [batch])
    const theirs = (taken[0] as TakenRow).batch
    assert.deepEqual((await tables.turn('other', 60_000, [], [theirs], [], false)).lost, [])
  })

  it('does not sleep while events are behind more holes than a turn looks at', async () => {
    const { tables, query } = await database()
    const { id } = await tables.join('g', 'e', null, false, { kind: 'all' })
    await query("select setval('elysia_microservices.event_position', 25000)")
    await tables.store(
      [{ pattern: 'e', id: 'a', key: undefined, headers: undefined, body: '{}', due: undefined }],
      1_000
    )
    const wanted = [{ id, most: 100, back: 100 }]
    const turns = []
    while (turns.length < 4) {
      const { next, taken } = await tables.turn('p', 60_000, [], [], wanted, true)
      turns.push([next === null || next > 0, idsOf(taken)])
      if (taken.length > 0) break
    }
    assert.deepEqual(turns, [
      [false, []],
      [false, []],
      [true, ['a']]
    ])
  })

  it('leaves the events of a process whose turns take long with it for longer', async () => {
    const { tables, query } = await database()
    const { id } = await tables.join('g', 'e', null, false, { kind: 'all' })
    await tables.store(
      [{ pattern: 'e', id: 'a', key: undefined, headers: undefined, body: '{}', due: undefined }],
      1_000
    )
    const wanted = [{ id, most: 100, back: 100 }]
    const { taken } = await tables.turn('slow', 60_000, [], [], wanted, false, 180_000)
    const known = taken.map(({ batch }) => batch)
    // A shorter one does not take it back: its answer may come late.
    await tables.turn('slow', 60_000, [], known, [], true, 0)
    const pass = (minutes: number) =>
      query(
        `update elysia_microservices.process set seen = seen - interval '${minutes} minutes' where id = 'slow'`
      )
    await pass(3)
    assert.deepEqual((await tables.turn('other', 60_000, [], [], wanted, false)).taken, [])
    await pass(2)
    assert.deepEqual(idsOf((await tables.turn('other', 60_000, [], [], wanted, false)).taken), ['a'])
  })

  it('publishes an event of the future when it is due, once, and knows its id until then', async () => {
    const { tables, query } = await database()
    const { id } = await tables.join('g', 'e', null, false, { kind: 'all' })
    const event = { pattern: 'e', id: 'a', key: 'k', headers: undefined, body: '{}' }
    const due = Date.now() + 600_000
    assert.deepEqual(await tables.store([{ ...event, due }], 1_000), [
      { position: undefined, isDuplicate: false, isHeld: false }
    ])
    assert.deepEqual(await tables.store([{ ...event, due: undefined }], 1_000), [
      { position: undefined, isDuplicate: true, isHeld: false }
    ])
    const wanted = [{ id, most: 100, back: 100 }]
    const { next, taken } = await tables.turn('p', 60_000, [], [], wanted, true)
    assert.ok(next !== null && next > 500_000 && next <= 600_000)
    assert.deepEqual(taken, [])
    await query("update elysia_microservices.later set due = due - interval '1 hour'")
    await tables.turn('p', 60_000, [], [], [], false)
    const first = await tables.turn('p', 60_000, [], [], wanted, false)
    const known = first.taken.map(({ batch }) => batch)
    const second = await tables.turn('p', 60_000, [], known, wanted, false)
    assert.deepEqual([idsOf(first.taken), second.taken], [['a'], []])
    assert.deepEqual(await query('select * from elysia_microservices.later'), [])
  })

  it('tells by its own clock when an event of the future is due, though that of the publisher is an hour off', async () => {
    const { sql, url, query } = await database()
    const store = postgres({ sql })
    const client = connect({ transport: calls, store, logger })
    const own = await transaction(url, store)
    cleanUp(() => client.close())
    const { now } = Date
    const half = 1_800_000
    const results: (string | boolean)[] = []
    for (const off of [-2 * half, 2 * half]) {
      const times = {
        delay: { delay: half },
        at: { at: new Date(now() + half) },
        past: { at: new Date(now() - half) }
      }
      Date.now = () => now() + off
      try {
        for (const [name, time] of Object.entries(times)) {
          const { position } = await client.publish('e', name, { id: `${name} ${off}`, ...time })
          const inside = await own.publish(`own ${name} ${off}`, undefined, time)
          results.push(name, position === undefined, inside.position === undefined)
        }
      } finally {
        Date.now = now
      }
    }
    const each = ['delay', true, true, 'at', true, true, 'past', false, false]
    assert.deepEqual(results, [...each, ...each])
    await own.end('commit')
    const waiting = await query(
      "select count(*)::int as count from elysia_microservices.later where due between clock_timestamp() + interval '10 minutes' and clock_timestamp() + interval '30 minutes'"
    )
    assert.deepEqual(waiting, [{ count: 8 }])
  })

  it('takes the same again when its answer was lost: nothing is written twice, and what nobody knows of is given back', async () => {
    const { tables, query } = await database()
    const { id } = await tables.join('g', 'e', null, true, { kind: 'all' })
    const event = { pattern: 'e', key: 'k', headers: undefined, body: '{}', due: undefined }
    await tables.store(
      ['a', 'b', 'c', 'd'].map((one) => ({ ...event, id: one })),
      1_000
    )
    const first = await tables.turn('p', 60_000, [], [], [{ id, most: 3, back: 3 }], false)
    const [a, b, c] = first.taken as [TakenRow, TakenRow, TakenRow]
    const dead = { ...a, reason: 'no' }
    const back = { ...b, attempt: 0, lock: 'k', delay: 0 }
    const left = { ...c, attempt: 0, lock: 'k' }
    const settled = [{ batch: a.batch, left: [left], back: [back], dead: [dead], discarded: [], over: [] }]
    // The process hears nothing of this turn, which has taken two events.
    const lost = await tables.turn('p', 60_000, settled, [a.batch], [{ id, most: 2, back: 2 }], false)
    assert.deepEqual(idsOf(lost.taken), ['b', 'd'])
    const again = await tables.turn('p', 60_000, settled, [a.batch], [{ id, most: 9, back: 9 }], false)
    assert.deepEqual(
      again.taken.map((row) => [row.id, row.attempt]),
      [
        ['b', 1],
        ['d', 1]
      ]
    )
    assert.deepEqual(await query('select id from elysia_microservices.letter'), [{ id: 'a' }])
    assert.deepEqual(await query('select * from elysia_microservices.pending'), [])
  })

  it('lists each of many dead letters once', async () => {
    const { tables, query } = await database()
    const { id } = await tables.join('g', 'e', null, false, { kind: 'all' })
    await query(`insert into elysia_microservices.letter (grp, position, pattern, published, id, body, reason, attempts)
      select ${id}, n, 'e', now(), n::text, '{}', 'no', 1 from generate_series(1, 201) as n`)
    const places: string[] = []
    for await (const letter of new PostgresDeadLetters('g', async () => tables).list())
      places.push(letter.position)
    assert.deepEqual(
      places,
      Array.from({ length: 201 }, (_, at) => String(at + 1))
    )
  })

  it('waits for no transaction that publishes the key of an event whose time has come, or the id of one that is forgotten', async () => {
    const { url, sql, query } = await database()
    const impatient = drive('pg', `${url}?options=-c%20lock_timeout%3D2s`)
    cleanUp(() => impatient.end())
    const tables = new Tables(databaseOf(impatient.sql), 'elysia_microservices')
    const { id } = await tables.join('g', 'e', null, true, { kind: 'all' })
    const turn = async () => tables.turn('p', 60_000, [], [], [{ id, most: 100, back: 100 }], true)
    const open = await transaction(url, postgres({ sql }))
    await open.publish('open', 'held')
    for (const [n, key] of ['held', 'free', 'held', ''].entries())
      await query(
        `insert into elysia_microservices.later values ('e', 'due ${n}', now(), nullif('${key}', ''), null, '{}')`
      )
    const fired = await turn()
    assert.deepEqual([idsOf(fired.taken), fired.next !== null && fired.next <= 0], [[], true])
    const second = await turn()
    assert.deepEqual(idsOf(second.taken), ['due 1', 'due 3'])
    // Those that wait for the transaction make no turn follow the other.
    assert.equal(second.next, null)
    await open.end('commit')
    await turn()
    const held = (await turn()).taken.filter(({ key }) => key === 'held')
    assert.deepEqual(idsOf(held), ['open', 'due 0', 'due 2'])
    await query("insert into elysia_microservices.recent values ('e', 'again', 1, now() - interval '1 hour')")
    const again = await transaction(url, postgres({ sql }))
    await again.publish('again')
    assert.equal((await tables.prune(0, 1_000)).more, false)
  })

  it('tells a process of events that has just slept, so that its row does not change each time', async () => {
    const { tables, query } = await database()
    const { id } = await tables.join('g', 'e', null, false, { kind: 'all' })
    const asleep = async (willSleep: boolean, seen: string) => {
      await query(`update elysia_microservices.process set seen = now() + interval '${seen}'`)
      await tables.turn('p', 60_000, [], [], [{ id, most: 1, back: 1 }], willSleep)
      return (await query('select asleep from elysia_microservices.process'))[0]?.['asleep']
    }
    const seen = [
      await asleep(true, '0'),
      await asleep(false, '10 seconds'),
      await asleep(false, '-2 seconds'),
      await asleep(true, '10 seconds')
    ]
    assert.deepEqual(seen, [true, true, false, true])
  })

  it('lets a client publish while an open transaction publishes one of its keys, and that key in its order', async () => {
    const { url, sql, query } = await database()
    const open = await transaction(url, postgres({ sql }))
    await open.publish('open', 'held')
    const client = connect({ transport: calls, store: postgres({ sql }), logger })
    cleanUp(() => client.close())
    const publish = (id: string, key?: string) =>
      client.publish('e', null, { id, ...(key !== undefined && { key }) })
    const alone = publish('held 1', 'held')
    await publish('free 1')
    const together = [publish('held 2', 'held'), publish('free 2', 'free'), publish('held 3', 'held')]
    await together[1]
    const stored = () => query('select id from elysia_microservices.event order by position')
    assert.deepEqual(idsOf((await stored()) as never), ['free 1', 'free 2'])
    await open.end('commit')
    await Promise.all([alone, ...together])
    assert.deepEqual(idsOf((await stored()) as never), [
      'open',
      'free 1',
      'free 2',
      'held 1',
      'held 2',
      'held 3'
    ])
  })

  it('ends a wait for an open transaction by itself when it was told how long', async () => {
    const { url, sql } = await database()
    const open = await transaction(url, postgres({ sql }))
    await open.publish('open', 'held')
    const event = {
      pattern: 'e',
      id: '1',
      key: 'held',
      headers: undefined,
      body: '{"data":1}',
      due: undefined
    }
    const keeping = { duplicateWindow: 120_000, maxBytes: 0 }
    for (const events of [[event], [event, { ...event, id: '2' }]]) {
      const stored = storeEvents(databaseOf(sql), 'elysia_microservices', events, keeping, true, 50)
      await assert.rejects(stored, (error) => answeredState(error) === '55P03')
    }
    await open.end('commit')
    assert.equal(
      (await storeEvents(databaseOf(sql), 'elysia_microservices', [event], keeping, true, 50)).length,
      1
    )
  })

  it('publishes what is due at one time part by part, if it is large', async () => {
    const { tables, query } = await database()
    await query(
      `insert into elysia_microservices.later select 'e', n::text, now() - interval '1 hour', null, null, repeat('x', 9000000)
        from generate_series(1, 3) as n`
    )
    const left = async () => {
      await tables.turn('p', 60_000, [], [], [], false)
      return (await query('select id from elysia_microservices.later')).length
    }
    assert.deepEqual([await left(), await left(), await left()], [1, 0, 0])
  })

  it('publishes events whose time has come in the order of their key, though processes look together', async () => {
    const { url, tables, query } = await database()
    const { id } = await tables.join('g', 'e', null, false, { kind: 'all' })
    await query(
      `insert into elysia_microservices.later select 'e', n::text, now() - interval '1 hour' + n * interval '1 millisecond',
        'k' || (hashint4(n) & 15), null, '{}' from generate_series(1, 2000) as n`
    )
    const processes = [1, 2, 3].map((n) => {
      const driven = drive('pg', url)
      cleanUp(() => driven.end())
      return { owner: `p${n}`, tables: new Tables(databaseOf(driven.sql), 'elysia_microservices') }
    })
    await Promise.all(
      processes.map(async ({ owner, tables }) => {
        while ((await query('select 1 as x from elysia_microservices.later limit 1')).length > 0)
          await tables.turn(owner, 60_000, [], [], [], false)
      })
    )
    const { taken } = await tables.turn('q', 60_000, [], [], [{ id, most: 5_000, back: 100 }], false)
    assert.equal(taken.length, 2_000)
    const last = new Map<string | null, number>()
    for (const row of taken) {
      assert.ok(Number(row.id) > (last.get(row.key) ?? 0), row.id)
      last.set(row.key, Number(row.id))
    }
  })
})

/** The costs of taking and handling events, in counts: rows that are read, bytes of WAL. */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { databaseOf } from '@elysia-microservices/outbox/database'
import { PostgresServer } from '@elysia-microservices/outbox/testing'
import pg from 'pg'
import { NOTHING, Tables } from './connection/tables.ts'
import type { Looks, TakenRow } from './connection/turn.ts'
import { migrateEvents } from './index.ts'

/** Events in the log, far more than one batch. */
const EVENTS = 4_000
/** Events of one round. */
const SOME = 50

let server: PostgresServer
before(async () => {
  // Whole pages after a checkpoint are no part of the cost of an event.
  server = await PostgresServer.start('-c', 'full_page_writes=off', '-c', 'autovacuum=off')
})
after(() => server.stop())

let pool: pg.Pool
afterEach(() => pool.end())

/** A log that has just been filled, and a group that begins with its first event. */
async function filled(size: number) {
  pool = new pg.Pool({ connectionString: await server.database(), max: 1 })
  // Its connections may end after their server.
  pool.on('error', () => {})
  await migrateEvents(pool)
  const tables = new Tables(databaseOf(pool), 'elysia_microservices')
  await pool.query('alter table elysia_microservices.event set (fillfactor = 10)')
  await pool.query(
    `insert into elysia_microservices.event (pattern, id, body) select 'p', n, repeat('x', ${size}) from generate_series(1, ${EVENTS}) as n`
  )
  const { id } = await tables.join('g', 'p', null, false, { kind: 'all' })
  const known: string[] = []
  const take = (wanted: { id: number; most: number; back: number }[], settled: string[] = []) =>
    tables.turn(
      'process',
      60_000,
      settled.map((batch) => ({ batch, left: [], back: [], dead: [], discarded: [], over: [] })),
      known,
      wanted,
      false
    )
  return { tables, id, known, take }
}

/** Rows of the log that the connection has read. */
async function rowsRead(): Promise<number> {
  const { rows } = await pool.query(
    "select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables where relname = 'event'"
  )
  return Number(rows[0].read)
}

describe('taking events', () => {
  it('finds what is next by an index', async () => {
    await filled(1)
    const { rows } = await pool.query(
      `explain select position from elysia_microservices.event where pattern = 'e' and position > 5 and position <= 9 order by position limit 3`
    )
    assert.match(JSON.stringify(rows), /event_of_pattern/)
  })

  it('reads no more of the log than it takes, whatever the statistics say', async () => {
    const { id, known, take } = await filled(10)
    // Many pages, and many rows if one believes the statistics: a sort of few rows seems cheaper than their index.
    await pool.query(
      "update pg_class set relpages = 1, reltuples = 4000 where oid = 'elysia_microservices.event'::regclass"
    )
    let positions: string[] = []
    for (let turn = 0; turn < 8; turn++) {
      await pool.query('begin')
      const before = await rowsRead()
      const { taken } = await take([{ id, most: 100, back: 10 }])
      positions = [...positions, ...taken.map(({ position }) => position)]
      known.push(taken[0]?.batch as string)
      const read = (await rowsRead()) - before
      await pool.query('commit')
      assert.ok(read <= 300, `${read} rows for ${taken.length} events`)
    }
    assert.deepEqual(
      positions,
      Array.from({ length: 800 }, (_, at) => String(at + 1))
    )
  })

  it('takes at most its part of the bytes of a turn, and one event at least', async () => {
    const { id, take } = await filled(7_500)
    // Each of these handlers may have 1 KiB, and then 32.
    for (const [handlers, count] of [
      [16_384, 1],
      [512, 5]
    ] as const) {
      const others = Array.from({ length: handlers - 1 }, (_, at) => ({ id: id + at + 1, most: 1, back: 1 }))
      const { taken } = await take([{ id, most: 10, back: 10 }, ...others])
      assert.equal(taken.length, count)
    }
  })
})

describe('an event that is handled', () => {
  it('costs at most 50 bytes of WAL', async () => {
    const { id, known, take } = await filled(100)
    const { rows: before } = await pool.query('select pg_current_wal_insert_lsn() as at')
    let count = 0
    for (let settled: string[] = []; ; ) {
      const { taken } = await take([{ id, most: 128, back: 16 }], settled)
      if (taken.length === 0) break
      count += taken.length
      settled = [taken[0]?.batch as string]
      known.splice(0, 1, ...settled)
    }
    const { rows: after } = await pool.query(
      'select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::float8 as bytes',
      [before[0].at]
    )
    assert.equal(count, EVENTS)
    assert.ok(after[0].bytes / count <= 50, `${after[0].bytes / count} bytes`)
  })
})

describe('a transaction that somebody holds open', () => {
  it('makes no turn dearer, the longer it is open', async () => {
    const url = await server.database()
    pool = new pg.Pool({ connectionString: url, max: 1 })
    pool.on('error', () => {})
    await migrateEvents(pool)
    // Few versions of a row in a page, so that few rounds do what many would.
    for (const table of ['batch', 'hole', 'pattern', 'pending', 'process', 'progress', 'queued', 'whole'])
      await pool.query(`alter table elysia_microservices.${table} set (fillfactor = 10)`)
    const tables = new Tables(databaseOf(pool), 'elysia_microservices')
    const { id } = await tables.join('g', 'p', null, true, { kind: 'all' })
    const open = new pg.Client(url)
    open.on('error', () => {})
    await open.connect()
    // It may read old versions, and it has a number, so that holes may be its own.
    await open.query('begin isolation level repeatable read; create table mine ()')
    const wanted = [{ id, most: 8, back: 8 }]
    const done = (batch: string) => ({ batch, left: [], back: [], dead: [], discarded: [], over: [] })
    let published = 0
    const publish = (one = String(published++)) =>
      tables.store([{ pattern: 'p', id: one, key: 'k', headers: undefined, body: '{}' }], 120_000)
    let known: string[] = []
    /** The next events, when those of the turn before are handled. */
    const next = async () => {
      const { taken } = await tables.turn('one', 60_000, known.map(done), known, wanted, false)
      known = [...new Set(taken.map(({ batch }) => batch))]
      return taken.length
    }
    /** An event runs while another one of its key is queued, and an id that is published again leaves a hole. */
    const round = async () => {
      await publish()
      await publish('0')
      assert.equal(await next(), 1)
      await publish()
      const { taken } = await tables.turn('other', 60_000, [], [], wanted, false)
      assert.equal(taken.length, 0)
      assert.equal(await next(), 1)
    }
    /** The pages that the next turn reads. */
    const pagesRead = async () => {
      await pool.query("update elysia_microservices.hole set noted = noted - interval '1 minute'")
      await round()
      await publish()
      await pool.query('begin')
      const { rows } = await pool.query(
        `explain (analyze, buffers, format json) select elysia_microservices.turn('one', 60000, '${JSON.stringify(known.map(done))}', '${JSON.stringify(known)}', '${JSON.stringify(wanted)}', false, 0, '[${id}]')`
      )
      await pool.query('rollback')
      const [{ Plan: plan }] = rows[0]['QUERY PLAN']
      assert.equal(await next(), 1)
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    }
    const pages: number[] = []
    for (const rounds of [6, 60]) {
      for (let count = 0; count < rounds; count++) await round()
      pages.push(await pagesRead())
    }
    await open.end()
    const [early = 0, late = 0] = pages
    assert.ok(late <= early * 1.5, `${early} pages, and ${late} later`)
  })
})

/** A database with a group, and a transaction that reads old versions. */
async function held(isOrdered = false) {
  const url = await server.database()
  pool = new pg.Pool({ connectionString: url, max: 1 })
  pool.on('error', () => {})
  await migrateEvents(pool)
  const tables = new Tables(databaseOf(pool), 'elysia_microservices')
  const { id } = await tables.join('g', 'p', null, isOrdered, { kind: 'all' })
  const open = new pg.Client(url)
  open.on('error', () => {})
  await open.connect()
  await open.query('begin isolation level repeatable read; create table mine ()')
  return { tables, id, end: () => open.end() }
}

/** The pages that a statement reads. */
async function pagesOf(statement: string): Promise<number> {
  await pool.query('begin')
  const { rows } = await pool.query(`explain (analyze, buffers, format json) ${statement}`)
  await pool.query('rollback')
  const [{ Plan: plan }] = rows[0]['QUERY PLAN']
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
}

describe('what is due and done while somebody holds a transaction open', () => {
  it('makes no turn dearer: neither events that have failed, nor those of the future', async () => {
    const { tables, id, end } = await held()
    const wanted = [{ id, most: SOME, back: SOME }]
    let known: string[] = []
    const event = { pattern: 'p', key: undefined, headers: undefined, body: '{}' }
    let published = 0
    let heard = 0
    /** Takes all events of a round. */
    const take = async (looks: Looks) => {
      const all: TakenRow[] = []
      while (all.length < SOME) {
        const { taken } = await tables.turn('one', 60_000, [], known, wanted, false, 0, looks)
        known = [...new Set([...known, ...taken.map(({ batch }) => batch)])]
        heard = Math.max(heard, ...known.map(Number))
        all.push(...taken)
      }
      return all
    }
    const settle = async (back: readonly TakenRow[]) => {
      const settled = known.map((batch) => ({
        ...{ batch, left: [], dead: [], discarded: [], over: [] },
        back: back
          .filter((row) => row.batch === batch)
          .map(({ position, letter, attempt }) => ({ position, letter, attempt, lock: null, delay: 0 }))
      }))
      await tables.turn('one', 60_000, settled, known, [], false)
      known = []
    }
    /** Events of the future become due, and fail; then they are done. */
    const round = async (looks: Looks) => {
      const some = Array.from({ length: SOME }, () => ({ ...event, id: String(published++), delay: 1 }))
      await tables.store(some, 120_000)
      await settle(await take(looks))
      await take(looks)
      await settle([])
    }
    /** The pages that a turn without anything to do reads, and the bounds behind which it looks. */
    const cost = async () => {
      await pool.query('select pg_sleep(2.1)')
      const { bounds } = await tables.turn('one', 60_000, [], [], wanted, false)
      const looks = JSON.stringify({ ...bounds, batch: heard })
      const text = `select elysia_microservices.turn('one', 60000, '[]', '[]', '${JSON.stringify(wanted)}', true, 0, '${looks}')`
      return { bounds: bounds ?? {}, pages: await pagesOf(text) }
    }
    const early = await cost()
    for (let rounds = 0; rounds < 40; rounds++) await round(early.bounds)
    const late = await cost()
    await end()
    assert.ok(late.pages <= early.pages * 1.5, `${early.pages} pages, and ${late.pages} later`)
  })

  it('makes no look for old events and ids dearer', async () => {
    const { tables, end } = await held()
    const fill = (first: number) =>
      pool.query(
        `with stored as (
          insert into elysia_microservices.event (pattern, id, body, published)
            select 'p', n, '{}', clock_timestamp() from generate_series(${first}, ${first + 4_999}) as n
            returning id, position, published
        ) insert into elysia_microservices.recent (pattern, id, position, published)
            select 'p', id, position, published from stored`
      )
    let behind = NOTHING
    const prune = async () => {
      for (let more = true; more; ) {
        const pruned = await tables.prune(1_000, 1_000, behind)
        behind = pruned
        more = pruned.more
      }
    }
    /** The pages that a look reads that finds nothing. */
    const pages: number[] = []
    for (const first of [0, 5_000, 10_000]) {
      await fill(first)
      await pool.query('select pg_sleep(1.1)')
      await tables.turn('one', 60_000, [], [], [], false)
      await prune()
      const { deleted, forgotten } = behind
      pages.push(
        await pagesOf(`select elysia_microservices.prune_events(1000, 1000, ${deleted}, ${forgotten})`)
      )
    }
    const { rows } = await pool.query(
      'select (select count(*) from elysia_microservices.event) + (select count(*) from elysia_microservices.recent) as left'
    )
    await end()
    assert.equal(Number(rows[0].left), 0)
    const [early = 0, , late = 0] = pages
    assert.ok(late <= early * 1.5, `${pages} pages`)
  })
})

describe('what comes back to an ordered group while somebody holds a transaction open', () => {
  it('makes no turn dearer', async () => {
    const { tables, id, end } = await held(true)
    const wanted = [{ id, most: SOME, back: SOME }]
    let known: string[] = []
    let published = 0
    let heard = 0
    const take = async () => {
      const { taken } = await tables.turn('one', 60_000, [], known, wanted, false)
      known = [...new Set([...known, ...taken.map(({ batch }) => batch)])]
      heard = Math.max(heard, ...known.map(Number))
      return taken
    }
    const settle = async (back: readonly TakenRow[]) => {
      const settled = known.map((batch) => ({
        ...{ batch, left: [], dead: [], discarded: [], over: [] },
        back: back
          .filter((row) => row.batch === batch)
          .map((row) => ({ ...row, attempt: row.attempt - 1, lock: row.key, delay: 0 }))
      }))
      await tables.turn('one', 60_000, settled, known, [], false)
      known = []
    }
    /** Events are taken and given back, as by a process that stops, and handled then. */
    const round = async () => {
      const event = { pattern: 'p', headers: undefined, body: '{}' }
      await tables.store(
        Array.from({ length: SOME }, (_, n) => ({ ...event, id: String(published++), key: `k${n % 9}` })),
        120_000
      )
      const some = await take()
      assert.equal(some.length, SOME)
      await settle(some)
      assert.equal((await take()).length, SOME)
      await settle([])
    }
    /** The pages that a turn without anything to do reads. */
    const cost = async () => {
      const { bounds } = await tables.turn('one', 60_000, [], [], wanted, false)
      const looks = JSON.stringify({ ...bounds, batch: heard })
      const text = `select elysia_microservices.turn('one', 60000, '[]', '[]', '${JSON.stringify(wanted)}', true, 0, '${looks}')`
      await pagesOf(text)
      return pagesOf(text)
    }
    const pages: number[] = []
    for (const rounds of [2, 60]) {
      for (let count = 0; count < rounds; count++) await round()
      pages.push(await cost())
    }
    await end()
    const [early = 0, late = 0] = pages
    assert.ok(late <= early * 1.5, `${early} pages, and ${late} later`)
  })
})

describe('the figures of a group', () => {
  it('cost the same, however many events wait or come back', async () => {
    const { tables, id, end } = await held()
    const figures = `select elysia_microservices.figures('[${id}]')`
    const wanted = [{ id, most: 500, back: 500 }]
    /** So many events have failed and come back in an hour, and as many wait in the log. */
    const wait = async (count: number) => {
      for (let n = 0; n < count; n += 500) {
        const event = { pattern: 'p', key: undefined, headers: undefined, body: '{}' }
        await tables.store(
          Array.from({ length: 1_000 }, (_, at) => ({ ...event, id: `${count} ${n} ${at}` })),
          120_000
        )
        const { taken } = await tables.turn('one', 60_000, [], [], wanted, false)
        const batch = taken[0]?.batch as string
        const back = taken.map((row) => ({ ...row, lock: null, delay: 3_600_000 }))
        const settled = [{ batch, left: [], dead: [], discarded: [], over: [], back }]
        await tables.turn('one', 60_000, settled, [batch], [], false)
      }
    }
    const pages: number[] = []
    for (const count of [500, 9_500]) {
      await wait(count)
      await pagesOf(figures)
      pages.push(await pagesOf(figures))
    }
    assert.deepEqual(await tables.figures([id]), [{ id, paused: false, lag: 20_000 }])
    await end()
    const [early = 0, late = 0] = pages
    assert.ok(late <= early * 1.5, `${early} pages, and ${late} later`)
  })
})

describe('what waits for its time', () => {
  it('makes no turn dearer, however much of it there is', async () => {
    const { tables, id, end } = await held()
    const wait = (from: number, to: number) =>
      pool.query(
        `with later as (
          insert into elysia_microservices.later (pattern, id, body, due)
            select 'p', n, '{}', now() + interval '1 hour' from generate_series($1::integer, $2) as n
        ) insert into elysia_microservices.pending (grp, position, letter, attempt, due)
            select $3, n, 0, 1, now() + interval '1 hour' from generate_series($1, $2) as n`,
        [from, to, id]
      )
    const wanted = JSON.stringify([{ id, most: SOME, back: SOME }])
    const cost = () =>
      pagesOf(`select elysia_microservices.turn('one', 60000, '[]', '[]', '${wanted}', true, 0, '[${id}]')`)
    await tables.turn('one', 60_000, [], [], [], false)
    await wait(1, 10)
    await cost()
    const early = await cost()
    await wait(11, 5_000)
    const late = await cost()
    await end()
    assert.ok(late <= early * 1.5, `${early} pages, and ${late} later`)
  })
})

describe('looking for old ids', () => {
  it('goes on until all ids outside the window of duplicates are deleted', async () => {
    const { tables } = await filled(1)
    await pool.query(
      "insert into elysia_microservices.recent select 'p', n, n, now() - interval '1 hour' from generate_series(1, 1200) as n"
    )
    const more: boolean[] = []
    for (let behind = NOTHING; more.at(-1) !== false; ) {
      const pruned = await tables.prune(0, 120_000, behind)
      more.push(pruned.more)
      behind = pruned
    }
    assert.deepEqual(more, [true, true, false])
  })
})

/** The costs of taking and handling events, in counts: rows that are read, bytes of WAL. */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { databaseOf } from '@elysia-microservices/outbox/database'
import { PostgresServer } from '@elysia-microservices/outbox/testing'
import pg from 'pg'
import { Tables } from './connection/tables.ts'
import { migrateEvents } from './index.ts'

/** Events in the log, far more than one batch. */
const EVENTS = 4_000

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

describe('looking for old ids', () => {
  it('goes on until all ids outside the window of duplicates are deleted', async () => {
    const { tables } = await filled(1)
    await pool.query(
      "insert into elysia_microservices.recent select 'p', n, n, now() - interval '1 hour' from generate_series(1, 1200) as n"
    )
    const more = [1, 2, 3].map(() => tables.prune(0, 120_000))
    assert.deepEqual(await Promise.all(more), [true, true, false])
  })
})

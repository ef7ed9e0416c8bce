/** An inbox makes handlers run once for each message, with each driver. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type pg from 'pg'
import type postgres from 'postgres'
import type { TransactionOf, TransactionSql } from './database/adapter.ts'
import { inbox } from './inbox.ts'
import { migrate } from './migrate.ts'
import { DRIVERS, type Driven, drive } from './testing/drivers.ts'
import { PostgresServer } from './testing/postgres-server.ts'
import { until } from './testing/until.ts'

let server: PostgresServer
before(async () => {
  server = await PostgresServer.start()
})
after(() => server.stop())

for (const driver of DRIVERS)
  describe(`an inbox with ${driver}`, () => {
    let driven: Driven
    before(async () => {
      driven = drive(driver, await server.database())
      await migrate(driven.sql)
      await driven.query('create table effect (id text)')
    })
    after(() => driven.end())

    const effect = (tx: unknown, id: string) =>
      driven.query('insert into effect values ($1)', [id], tx as TransactionSql)
    const effects = async (id: string) =>
      (await driven.query('select id from effect where id = $1', [id])).length

    it('runs a handler once for an id', async () => {
      const box = inbox(driven.sql, 'once')
      assert.equal(await box.once('a', (tx) => effect(tx, 'a')), true)
      assert.equal(await box.once('a', (tx) => effect(tx, 'a')), false)
      assert.equal(await effects('a'), 1)
    })

    it('forgets an id whose handler fails, and what it wrote', async () => {
      const box = inbox(driven.sql, 'failing')
      const failure = new Error('no')
      const failing = box.once('b', async (tx) => {
        await effect(tx, 'b')
        throw failure
      })
      await assert.rejects(failing, failure)
      assert.equal(await effects('b'), 0)
      assert.equal(await box.once('b', (tx) => effect(tx, 'b')), true)
      assert.equal(await effects('b'), 1)
    })

    it('does not take a rolled back transaction for a committed one', async () => {
      const box = inbox(driven.sql, 'swallowing')
      const swallowing = box.once('s', async (tx) => {
        await effect(tx, 's')
        await driven.query('select 1/0', [], tx as TransactionSql).catch(() => {})
      })
      await assert.rejects(swallowing)
      assert.equal(await effects('s'), 0)
      assert.equal(await box.once('s', (tx) => effect(tx, 's')), true)
    })

    it('keeps memories with other names apart', async () => {
      assert.equal(await inbox(driven.sql, 'one').once('c', () => {}), true)
      assert.equal(await inbox(driven.sql, 'other').once('c', () => {}), true)
    })

    it('has one of many at a time run, the others wait for it', async () => {
      const box = inbox(driven.sql, 'many')
      const ran = await Promise.all(Array.from({ length: 8 }, () => box.once('d', (tx) => effect(tx, 'd'))))
      assert.equal(ran.filter(Boolean).length, 1)
      assert.equal(await effects('d'), 1)
    })

    it('has one that waits run if the first one fails', async () => {
      const box = inbox(driven.sql, 'second')
      let fail: (error: Error) => void = () => {}
      let hasBegun = false
      const first = box.once('e', () => {
        hasBegun = true
        return new Promise((_, reject) => {
          fail = reject
        })
      })
      await until(() => hasBegun)
      const second = box.once('e', (tx) => effect(tx, 'e'))
      await until(async () => {
        const waiting = await driven.query("select from pg_stat_activity where wait_event_type = 'Lock'")
        return waiting.length > 0
      })
      fail(new Error('no'))
      await assert.rejects(first, /no/)
      assert.equal(await second, true)
      assert.equal(await effects('e'), 1)
    })

    it('prunes what is old, of its own memory', async () => {
      const box = inbox(driven.sql, 'pruned')
      await driven.query(
        `insert into elysia_microservices.inbox (name, id, handled_at)
          select name, n::text, now() - interval '1 hour'
          from generate_series(1, 12000) as n, unnest(array['pruned', 'kept']) as name`
      )
      await box.once('new', () => {})
      assert.equal(await box.prune({ olderThan: 60_000 }), 12_000)
      assert.equal(await box.once('new', () => {}), false)
      assert.equal(await box.once('1', () => {}), true)
      assert.equal(await inbox(driven.sql, 'kept').once('1', () => {}), false)
    })

    it('refuses what it cannot remember', async () => {
      assert.throws(() => inbox(driven.sql, ''), { name: 'OptionError', path: 'name' })
      const box = inbox(driven.sql, 'wrong')
      await assert.rejects(
        box.once(undefined as never, () => {}),
        { name: 'OptionError', path: 'id' }
      )
      await assert.rejects(box.once('a', 7 as never), { name: 'OptionError', path: 'handler' })
      for (const olderThan of [-1, Number.NaN, '1'])
        await assert.rejects(box.prune({ olderThan } as never), { path: 'options.olderThan' })
    })

    it('refuses a transaction, in which it could not begin one', async () => {
      await driven.begin(async (tx) => {
        assert.throws(() => inbox(tx as never, 'x'), { name: 'OptionError', path: 'sql' })
      })
    })
  })

describe('the transaction that a handler is given', () => {
  it('has the type of its driver', () => {
    type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
    const ofPostgres: Same<TransactionOf<postgres.Sql>, postgres.TransactionSql> = true
    const ofPg: Same<TransactionOf<pg.Pool>, pg.PoolClient> = true
    const ofBun: Same<TransactionOf<typeof Bun.sql>, Bun.TransactionSQL> = true
    assert.ok(ofPostgres && ofPg && ofBun)
    const accepted = (sql: { p: postgres.Sql; g: pg.Pool; b: typeof Bun.sql }) => [
      inbox(sql.p, 'a').once('1', (tx) => tx`select 1`),
      inbox(sql.g, 'a').once('1', (tx) => tx.query('select 1')),
      inbox(sql.b, 'a').once('1', (tx) => tx`select 1`)
    ]
    assert.equal(typeof accepted, 'function')
  })
})

/** The events that an outbox stores, and those that it refuses, with each driver. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { freePort } from '@elysia-microservices/test-support'
import { OptionError } from '@elysia-microservices/transport'
import fc from 'fast-check'
import pg from 'pg'
import type { TransactionSql } from './database/adapter.ts'
import { inbox } from './inbox.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations.ts'
import { outbox } from './outbox.ts'
import { outboxRelay } from './relay/relay.ts'
import { DRIVERS, type Driven, drive } from './testing/drivers.ts'
import { Engine } from './testing/engine.ts'
import { PostgresServer } from './testing/postgres-server.ts'
import { until } from './testing/until.ts'

let server: PostgresServer
before(async () => {
  server = await PostgresServer.start()
})
after(() => server.stop())

for (const driver of DRIVERS)
  describe(`an outbox with ${driver}`, () => {
    let url: string
    let driven: Driven
    before(async () => {
      url = await server.database()
      driven = drive(driver, url)
      await migrate(driven.sql)
    })
    after(() => driven.end())

    const rows = (pattern: string) =>
      driven.query(
        `select id, key, headers::text, data::text from elysia_microservices.outbox where pattern = '${pattern}' order by position`
      )

    it('writes an event in the transaction of the caller', async () => {
      const { id, duplicate } = await driven.begin((tx) =>
        outbox(tx).publish('a', { n: 1, ü: '\0"' }, { key: 'k', headers: { tenant: 'x' } })
      )
      assert.equal(duplicate, false)
      assert.deepEqual(await rows('a'), [
        { id, key: 'k', headers: '{"tenant":"x"}', data: '{"n":1,"ü":"\\u0000\\""}' }
      ])
    })

    it('writes nothing if the transaction is rolled back', async () => {
      const failure = new Error('no')
      const failing = driven.begin(async (tx) => {
        await outbox(tx).publish('b', 1)
        throw failure
      })
      await assert.rejects(failing, failure)
      assert.deepEqual(await rows('b'), [])
    })

    it('writes an id once for each pattern', async () => {
      const publish = (pattern: string) =>
        driven.begin((tx) => outbox(tx).publish(pattern, 1, { id: 'once' }))
      assert.deepEqual(await publish('c'), { id: 'once', duplicate: false })
      assert.deepEqual(await publish('c'), { id: 'once', duplicate: true })
      assert.deepEqual(await publish('c2'), { id: 'once', duplicate: false })
      assert.equal((await rows('c')).length, 1)
    })

    it('keeps any data that JSON carries as it is', async () => {
      const anything = fc.oneof(fc.jsonValue(), fc.constant(undefined))
      let count = 0
      await fc.assert(
        fc.asyncProperty(anything, async (data) => {
          const pattern = `json${count++}`
          await driven.begin((tx) => outbox(tx).publish(pattern, data))
          const [row] = await rows(pattern)
          const expected = data === undefined ? null : JSON.stringify(data)
          assert.equal(row!['data'], expected)
        }),
        { numRuns: 50 }
      )
    })

    it('writes the route of an object pattern', async () => {
      await driven.begin((tx) => outbox(tx).publish({ to: 'x', cmd: 'd' }, 1))
      assert.equal((await rows('{"cmd":"d","to":"x"}')).length, 1)
    })

    it('lets a transaction go on after a refusal', async () => {
      const circular: unknown[] = []
      circular.push(circular)
      const wrong: [pattern: never, data: unknown, options: object, path: string][] = [
        [null as never, 1, {}, 'pattern'],
        ['' as never, 1, {}, 'pattern'],
        ['nul\0' as never, 1, {}, 'pattern'],
        ['e' as never, 1n, {}, 'data'],
        ['e' as never, { a: [new Map()] }, {}, 'data.a[0]'],
        ['e' as never, circular, {}, 'data'],
        ['e' as never, 1, { id: '' }, 'options.id'],
        ['e' as never, 1, { id: 'ü'.repeat(513) }, 'options.id'],
        ['e' as never, 1, { key: 7 }, 'options.key'],
        ['e' as never, 1, { key: 'half \ud800' }, 'options.key'],
        ['e' as never, 1, { key: 'tenant\tname' }, 'options.key'],
        ['e' as never, 1, { id: 'two\nlines' }, 'options.id'],
        ['e' as never, 1, { headers: { a: 1 } }, 'options.headers["a"]'],
        ['e' as never, 1, { headers: { 'elysia-x': '1' } }, 'options.headers["elysia-x"]'],
        ['e' as never, 1, { headers: { 'Elysia-x': '1' } }, 'options.headers["Elysia-x"]'],
        ['e' as never, 1, { headers: { a: 'two\r\nlines' } }, 'options.headers["a"]'],
        ['e' as never, 1, { headers: { 'a\0': '' } }, 'options.headers["a'],
        ['e' as never, 1, { headers: { a: 'ü'.repeat(17_000) } }, 'options.headers'],
        ['e' as never, 1, { kye: 'k' }, 'options.kye']
      ]
      await driven.begin(async (tx) => {
        for (const [pattern, data, options, path] of wrong)
          await assert.rejects(outbox(tx).publish(pattern, data, options), (error) => {
            assert.ok(error instanceof OptionError, String(error))
            assert.ok(error.path.startsWith(path), `${error.path} begins with ${path}`)
            return true
          })
        await outbox(tx).publish('e', 'fine')
      })
      assert.equal((await rows('e')).length, 1)
    })

    it('refuses what is not in a transaction', async () => {
      const sql = (await driven.outside()) as TransactionSql
      await assert.rejects(outbox(sql).publish('f', 1), { name: 'OptionError', path: 'sql' })
      await assert.rejects(outbox(7 as never).publish('f', 1), { name: 'OptionError', path: 'sql' })
      assert.deepEqual(await rows('f'), [])
    })

    it('lets transactions with one key wait for one another, and others not', async () => {
      const order: string[] = []
      let finish: () => void = () => {}
      const mayFinish = new Promise<void>((resolve) => {
        finish = resolve
      })
      let begun: () => void = () => {}
      const hasBegun = new Promise<void>((resolve) => {
        begun = resolve
      })
      const first = driven.begin(async (tx) => {
        await outbox(tx).publish('g', 1, { key: 'same' })
        begun()
        await mayFinish
        order.push('first')
      })
      await hasBegun
      const second = driven.begin(async (tx) => {
        await outbox(tx).publish('g', 2, { key: 'same' })
        order.push('second')
      })
      await driven.begin((tx) => outbox(tx).publish('g', 3, { key: 'other' }))
      finish()
      await Promise.all([first, second])
      assert.deepEqual(order, ['first', 'second'])
      const written = (await rows('g')).filter(({ key }) => key === 'same')
      assert.deepEqual(
        written.map(({ data }) => data),
        ['1', '2']
      )
    })

    it('has tables in a schema of choice', async () => {
      await migrate(driven.sql, { schema: 'mine' })
      await driven.begin((tx) => outbox(tx, { schema: 'mine' }).publish('h', 1))
      assert.equal((await driven.query('select * from mine.outbox')).length, 1)
      assert.deepEqual(await rows('h'), [])
      for (const schema of ['a"b', 'pg_mine', 'Mine', ''])
        assert.throws(() => outbox(driven.outside as never, { schema }), { path: 'options.schema' })
    })

    it('has tables in a schema whose name is a word of SQL', async () => {
      for (const schema of ['select', 'user', 'table']) {
        await migrate(driven.sql, { schema })
        await driven.begin((tx) => outbox(tx, { schema }).publish('h', 1, { key: 'k' }))
        const engine = new Engine()
        const relay = outboxRelay({ sql: driven.sql, client: engine, schema })
        await relay.start()
        await until(() => engine.stored.length === 1)
        await until(async () => (await relay.stats()).pending === 0)
        assert.deepEqual(await relay.failed.list(), [])
        assert.equal(await relay.prune({ olderThan: 0 }), 1)
        await relay.stop()
        const box = inbox(driven.sql, 'me', { schema })
        assert.equal(await box.once('1', () => {}), true)
        assert.equal(await box.prune({ olderThan: 0 }), 1)
      }
    })
  })

describe('an outbox on a client of pg', () => {
  it('is refused without an open transaction, each time', async () => {
    const driven = drive('pg', await server.database())
    await migrate(driven.sql)
    const client = await (driven.sql as pg.Pool).connect()
    const box = outbox(client)
    await assert.rejects(box.publish('a', 1), { path: 'sql', message: /client\.query\('begin'\)/ })
    await client.query('begin')
    await box.publish('a', 1)
    await client.query('commit')
    await assert.rejects(box.publish('a', 1), { path: 'sql' })
    client.release()
    await driven.end()
  })
})

describe('without PostgreSQL', () => {
  for (const driver of DRIVERS)
    it(`everything says where it was expected, and what to do, with ${driver}`, async () => {
      const address = `127.0.0.1:${await freePort()}`
      const { sql, end } = drive(driver, `postgres://me:secret@${address}/shop`)
      const client = new Engine()
      const relay = outboxRelay({ sql, client })
      const box = inbox(sql, 'me')
      const uses: readonly (() => Promise<unknown>)[] = [
        () => relay.start(),
        () => relay.stats(),
        () => relay.failed.list(),
        () => relay.prune({ olderThan: 0 }),
        () => migrate(sql),
        () => box.once('1', () => {}),
        () => box.prune({ olderThan: 0 })
      ]
      for (const use of uses)
        await assert.rejects(use(), {
          name: 'ConnectionError',
          code: 'CONNECTION',
          mayHaveRun: false,
          message: `Cannot reach PostgreSQL at ${address}: connection refused; start PostgreSQL, or correct the address in the options of sql`
        })
      await end()
    })

  it("a handler's own error stays what it is", async () => {
    const driven = drive('pg', await server.database())
    await migrate(driven.sql)
    const failure = Object.assign(new Error('another server'), { code: 'ECONNREFUSED' })
    await assert.rejects(
      inbox(driven.sql, 'me').once('1', () => Promise.reject(failure)),
      (error) => error === failure
    )
    await driven.end()
  })
})

describe('migrate()', () => {
  for (const driver of DRIVERS)
    it(`may run several times at a time, with ${driver}`, async () => {
      const url = await server.database()
      const all = Array.from({ length: 5 }, () => drive(driver, url, 2))
      await Promise.all(all.flatMap(({ sql }) => [migrate(sql), migrate(sql)]))
      await all[0]!.begin((tx) => outbox(tx).publish('a', 1))
      await migrate(all[0]!.sql)
      assert.equal((await all[0]!.query('select * from elysia_microservices.outbox')).length, 1)
      assert.equal(
        (await all[0]!.query('select * from elysia_microservices.migrations')).length,
        MIGRATIONS.length
      )
      await Promise.all(all.map((each) => each.end()))
    })

  for (const driver of DRIVERS)
    it(`needs no right to create anything where everything exists, with ${driver}`, async () => {
      const url = await server.database()
      const owner = drive(driver, url)
      await migrate(owner.sql, { schema: 'theirs' })
      await migrate(owner.sql)
      const role = `user_of_${new URL(url).pathname.slice(1)}`
      await owner.query(`create role ${role} login`)
      for (const schema of ['theirs', 'elysia_microservices']) {
        await owner.query(`grant usage on schema ${schema} to ${role}`)
        await owner.query(`grant select, insert, update, delete on all tables in schema ${schema} to ${role}`)
      }
      const user = drive(driver, url.replace('//postgres:', `//${role}:`))
      await migrate(user.sql)
      await migrate(user.sql, { schema: 'theirs' })
      await user.begin((tx) => outbox(tx).publish('a', 1))
      await assert.rejects(migrate(user.sql, { schema: 'another' }), /permission denied for database/)
      await Promise.all([owner, user].map((each) => each.end()))
    })

  for (const driver of DRIVERS)
    it(`creates only what is missing, in a schema that somebody else has made, with ${driver}`, async () => {
      const url = await server.database()
      const owner = drive(driver, url)
      const role = `maker_of_${new URL(url).pathname.slice(1)}`
      await owner.query(`create role ${role} login`)
      await owner.query(`create schema made authorization ${role}`)
      const maker = drive(driver, url.replace('//postgres:', `//${role}:`))
      await migrate(maker.sql, { schema: 'made' })
      await maker.begin((tx) => outbox(tx, { schema: 'made' }).publish('a', 1))
      await Promise.all([owner, maker].map((each) => each.end()))
    })

  it('refuses a connection, and what is no database', async () => {
    const client = new pg.Client(await server.database())
    for (const sql of [client, 7, undefined])
      await assert.rejects(migrate(sql as never), { name: 'OptionError', path: 'sql' })
  })
})

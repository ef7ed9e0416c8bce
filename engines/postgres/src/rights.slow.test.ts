/** Services and publishers over PostgreSQL without the tables, and with few rights. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { drive, MAIN_DRIVER } from '@elysia-microservices/outbox/testing'
import { Log, until } from '@elysia-microservices/test-support'
import { memory } from '@elysia-microservices/transport'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import pg from 'pg'
import { migrateEvents, postgres } from './index.ts'
import { databases } from './testing/database.ts'

const { database, emptyDatabase, cleanUp } = databases()
const { logger } = new Log()
const calls = { ...memory(), name: 'calls' }

describe('a service over PostgreSQL', () => {
  it('is refused without the tables, and says how they are made', async () => {
    const driven = drive(MAIN_DRIVER, await emptyDatabase())
    cleanUp(() => driven.end())
    const client = connect({ transport: calls, store: postgres({ sql: driven.sql, schema: 'mine' }), logger })
    cleanUp(() => client.close())
    await assert.rejects(client.publish('e', 1), {
      name: 'OptionError',
      message:
        "The schema mine has no tables of events; create them: await migrateEvents(sql, { schema: 'mine' })"
    })
  })

  it('handles, retries, buries and redrives events with the rights of a handler alone', async () => {
    const { url, query } = await database()
    await query(`do $$ begin
      if not exists (select from pg_roles where rolname = 'handler') then create role handler login; end if;
    end $$`)
    for (const right of [
      'usage on schema elysia_microservices',
      'select, insert, update, delete on all tables in schema elysia_microservices',
      'usage on sequence elysia_microservices.event_position'
    ])
      await query(`grant ${right} to handler`)
    const own = drive(MAIN_DRIVER, url.replace('postgres:password@', 'handler:password@'))
    cleanUp(() => own.end())
    await migrateEvents(own.sql)
    const store = postgres({ sql: own.sql })
    const seen: unknown[] = []
    const service = microservice({ transport: calls, store, name: 'g', logger }).event(
      'e',
      ({ data, delivery }) => {
        seen.push([data, delivery?.attempt])
        if (seen.length < 3) throw new Error('no')
      },
      { durable: { ordered: true, retry: { attempts: 2, minDelay: 1 } } }
    )
    await service.listen()
    const client = connect({ transport: calls, store, logger })
    cleanUp(
      () => service.stop(),
      () => client.close()
    )
    await client.publish('e', 1, { key: 'k', delay: 1 })
    const letters = client.group('g').deadLetters
    await until('It is buried', async () => {
      for await (const { position } of letters.list()) return letters.redrive(position)
      return false
    })
    await until('It has succeeded', () => seen.length === 3)
    assert.deepEqual(seen, [
      [1, 1],
      [1, 2],
      [1, 1]
    ])
  })

  it('publishes with the rights of a publisher alone, which reads no event', async () => {
    const { url, sql, query } = await database()
    await query(`do $$ begin
      if not exists (select from pg_roles where rolname = 'publisher') then create role publisher login; end if;
    end $$`)
    for (const right of [
      'usage on schema elysia_microservices',
      'select, insert, update on elysia_microservices.recent',
      'insert on elysia_microservices.event',
      'select, insert on elysia_microservices.later',
      'select on elysia_microservices.process',
      'usage on sequence elysia_microservices.event_position'
    ])
      await query(`grant ${right} to publisher`)
    const client = new pg.Client(url.replace('postgres:password@', 'publisher:password@'))
    await client.connect()
    cleanUp(() => client.end())
    await client.query('begin')
    const { position } = await postgres({ sql }).in(client).publish('e', 1, { key: 'k' })
    await client.query('commit')
    assert.equal(position, '1')
    await assert.rejects(client.query('select * from elysia_microservices.event'), /permission denied/)
    // A limit needs two rights more.
    for (const table of ['stored', 'deleted'])
      await query(`grant select on elysia_microservices.${table} to publisher`)
    await query('select elysia_microservices.advance()')
    await client.query('begin')
    const limited = postgres({ sql, maxBytes: 5 })
    await assert.rejects(limited.in(client).publish('e', 2, { key: 'k' }), {
      name: 'NotStoredError',
      message: /keeps 10 bytes of events, and may keep 5: raise options\.maxBytes/
    })
    // The transaction goes on.
    await postgres({ sql, maxBytes: 100 }).in(client).publish('e', 3, { key: 'k' })
    await client.query('commit')
    assert.deepEqual(await query('select body from elysia_microservices.event order by position'), [
      { body: '{"data":1}' },
      { body: '{"data":3}' }
    ])
  })
})

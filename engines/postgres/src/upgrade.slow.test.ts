/** Databases whose tables an older version has made. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { databaseOf } from '@elysia-microservices/outbox/database'
import { drive, MAIN_DRIVER } from '@elysia-microservices/outbox/testing'
import pg from 'pg'
import { Tables } from './connection/tables.ts'
import { migrateEvents } from './index.ts'
import { databases } from './testing/database.ts'

const { database, emptyDatabase, cleanUp } = databases()
const RELEASED = readFileSync(new URL('../src/testing/events_0001.sql', import.meta.url), 'utf8')

/** A database with the first version of the tables. */
async function old() {
  const url = await emptyDatabase()
  const client = new pg.Client(url)
  await client.connect()
  cleanUp(() => client.end())
  const migrations =
    'create table elysia_microservices.migrations (name text primary key, applied_at timestamptz not null default now())'
  const done = "insert into elysia_microservices.migrations (name) values ('events_0001')"
  await client.query(`create schema elysia_microservices; ${migrations}; ${done}; ${RELEASED}`)
  const driven = drive(MAIN_DRIVER, url)
  cleanUp(() => driven.end())
  return { url, client, sql: driven.sql, tables: new Tables(databaseOf(driven.sql), 'elysia_microservices') }
}

/** Two groups of the first version, to which events have come back; one of them is ordered. */
async function filled({ client, tables }: Awaited<ReturnType<typeof old>>) {
  const ids: number[] = []
  for (const isOrdered of [true, false]) {
    const joined = await tables.join(`g${isOrdered}`, 'e', null, isOrdered, { kind: 'all' })
    ids.push(joined.id)
  }
  const events = ['a', 'b', 'c', 'd'].map((id) => ({ pattern: 'e', id, key: 'k', body: '{"data":1}' }))
  await client.query('select elysia_microservices.store_events($1, 1000, true)', [JSON.stringify(events)])
  const wanted = (most: number) => ids.map((id) => ({ id, most, back: most }))
  await tables.turn('one', 60_000, [], [], wanted(3), false)
  await tables.leave('one')
  // Another process finds them, and wants nothing.
  await tables.turn('other', 60_000, [], [], [], false)
  return { ids, wanted }
}

describe('tables of the first version', () => {
  it('become those of this version while a reader holds a transaction open, and nothing is lost or counted wrongly', async () => {
    const before = await old()
    const { client, tables, sql, url } = before
    const { ids, wanted } = await filled(before)
    await client.query(`do $$ begin
      if not exists (select from pg_roles where rolname = 'older') then create role older login; end if;
    end $$;
    grant usage on schema elysia_microservices to older;
    grant usage on sequence elysia_microservices.event_position to older;
    grant select, insert, update, delete on all tables in schema elysia_microservices to older`)
    const reader = new pg.Client(url)
    await reader.connect()
    cleanUp(() => reader.end())
    await reader.query('begin isolation level repeatable read')
    const { rows: names } = await client.query(
      "select relname from pg_class where relnamespace = 'elysia_microservices'::regnamespace and relkind = 'r'"
    )
    for (const { relname } of names)
      await reader.query(`select count(*) from elysia_microservices.${relname}`)

    await migrateEvents(sql)
    await reader.query('commit')
    const figures = await tables.figures(ids)
    assert.deepEqual(
      figures.map(({ lag }) => lag),
      [4, 4]
    )
    const { rows: bytes } = await client.query('select elysia_microservices.kept_bytes()::integer as bytes')
    assert.deepEqual(bytes, [{ bytes: 4 * '{"data":1}'.length }])
    const own = drive(MAIN_DRIVER, url.replace('postgres:password@', 'older:password@'))
    cleanUp(() => own.end())
    const theirs = new Tables(databaseOf(own.sql), 'elysia_microservices')
    const { taken } = await theirs.turn('new', 60_000, [], [], wanted(9), false)
    const rest = await theirs.turn(
      'new',
      60_000,
      [],
      [...new Set(taken.map(({ batch }) => batch))],
      wanted(9),
      false
    )
    const come = [...taken, ...rest.taken]
    for (const id of ids)
      assert.deepEqual(
        come.filter(({ group }) => group === id).map((row) => [row.id, row.attempt]),
        [
          ['a', 2],
          // An event that waits for another one of its key has not begun.
          ['b', id === ids[0] ? 1 : 2],
          ['c', id === ids[0] ? 1 : 2],
          ['d', 1]
        ]
      )
  })

  it('are the same as new ones then', async () => {
    const { client, sql } = await old()
    await migrateEvents(sql)
    const fresh = await database()
    const catalog = `select 'function' as kind, proname::text as name, pg_get_functiondef(p.oid) as text
        from pg_proc as p where pronamespace = 'elysia_microservices'::regnamespace
      union all select 'column', attrelid::regclass || '.' || attname, format_type(atttypid, atttypmod)
        from pg_attribute join pg_class on pg_class.oid = attrelid
        where relnamespace = 'elysia_microservices'::regnamespace and attnum > 0
      order by 1, 2`
    assert.deepEqual((await client.query(catalog)).rows, await fresh.query(catalog))
  })
})

/**
 * Events in PostgreSQL behind PgBouncer in transaction mode, where each transaction may run on another connection: nothing
 * is told by LISTEN, and prepared statements are kept by newer versions only.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { TransactionSql } from '@elysia-microservices/outbox'
import { DRIVERS, drive, PostgresServer } from '@elysia-microservices/outbox/testing'
import { migrateEvents, postgres } from '@elysia-microservices/postgres'
import { isMissing, Log, until } from '@elysia-microservices/test-support'
import { type Message, memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { knowsPrepared, PgBouncer, pgBouncerMissing } from '../support/pgbouncer.ts'

const PLAIN = 200
const ORDERED = 100
const ONCE = 50
const KEYS = 5

if (!isMissing('events in PostgreSQL behind PgBouncer', pgBouncerMissing()))
  describe('events in PostgreSQL behind PgBouncer', () => {
    let server: PostgresServer
    before(async () => {
      server = await PostgresServer.start()
    })
    after(() => server.stop())

    for (const prepares of [false, true])
      if (!prepares || knowsPrepared())
        // Without prepared statements, postgres.js may wait for an answer for ever here: docs/postgres.md.
        for (const driver of DRIVERS.filter((one) => prepares || one !== 'postgres.js'))
          it(`with ${driver} ${prepares ? 'and' : 'without'} prepared statements: published, in transactions, too, later, in order, once`, async () => {
            const direct = await server.database()
            const pooler = await PgBouncer.start(server.port, prepares ? 100 : 0)
            after(() => pooler.stop())
            await lives(driver, pooler.address(direct), prepares)
            await pooler.stop()
          })
  })

async function lives(driver: (typeof DRIVERS)[number], address: string, prepares: boolean): Promise<void> {
  const { logger, lines } = new Log()
  const calls = { ...memory(), name: 'calls' }
  const { sql, begin, query, end } = drive(driver, address, 10, prepares)
  await migrateEvents(sql)
  await query('create table effect (n integer not null)')
  const seen = { plain: [] as unknown[], ordered: [] as [unknown, unknown][], later: [] as unknown[] }
  const start = async () => {
    const store = postgres({ sql, pollInterval: 100 })
    const service = microservice({ name: 'g', transport: calls, store, logger })
      .event('plain', ({ data }) => void seen.plain.push(data), { durable: true })
      .event(
        'ordered',
        async ({ data, delivery }: Message) => {
          await query('select 1')
          seen.ordered.push([delivery?.key, data])
        },
        { durable: { ordered: true } }
      )
      .event(
        'once',
        ({ data, delivery }) =>
          store.transaction(delivery, async (given) => {
            const tx = given as TransactionSql
            await query('insert into effect values ($1::text::integer)', [String(data)], tx)
            // Its first attempt is undone, with what it has written.
            if (Number(data) % 10 === 0 && delivery?.attempt === 1) throw new Error('undone')
            await store.in(tx).publish('plain', `after ${data}`)
          }),
        { durable: { transactional: true, retry: { minDelay: 10 } } }
      )
      .event('later', ({ data }) => void seen.later.push(data), { durable: true })
    await service.listen()
    return service
  }
  const services = [await start(), await start()]
  const store = postgres({ sql })
  const client = connect({ transport: calls, store, logger })
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)
  await client.publish('later', 'never', { id: 'never', delay: 3_600_000 })
  await client.publish('later', 'soon', { delay: 500 })
  await Promise.all([
    ...numbers(PLAIN).map((n) => client.publish('plain', n)),
    ...numbers(ONCE).map((n) => client.publish('once', n))
  ])
  for (const n of numbers(ORDERED)) {
    const publish = begin(async (tx) => {
      await store.in(tx).publish('ordered', n, { key: `k${n % KEYS}` })
      if (n % 4 === 0) throw new Error('rolled back')
    })
    await publish.catch((error: Error) => assert.equal(error.message, 'rolled back'))
  }
  const kept = numbers(ORDERED).filter((n) => n % 4 !== 0)
  await until('All have come', () =>
    [seen.plain.length >= PLAIN + ONCE, seen.ordered.length >= kept.length, seen.later.length > 0].every(
      Boolean
    )
  )
  assert.deepEqual(
    seen.plain.map(String).sort(),
    [...numbers(PLAIN).map(String), ...numbers(ONCE).map((n) => `after ${n}`)].sort()
  )
  for (let key = 0; key < KEYS; key++)
    assert.deepEqual(
      seen.ordered.filter(([one]) => one === `k${key}`).map(([, n]) => n),
      kept.filter((n) => n % KEYS === key)
    )
  const effects = await query(
    'select count(*)::integer as rows, count(distinct n)::integer as events from effect'
  )
  assert.deepEqual(effects, [{ rows: ONCE, events: ONCE }])
  assert.deepEqual(seen.later, ['soon'])
  assert.equal(await client.cancel('later', 'never'), true)
  assert.equal(await client.group('g').lag(), 0)
  // Handlers fail as they are meant to; nothing else does.
  const unexpected = lines.filter((line) => !/undone|LISTEN|runs again/.test(line))
  assert.deepEqual(unexpected, [])
  await client.close()
  for (const service of services) await service.stop()
  await end()
}

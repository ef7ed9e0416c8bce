/** A relay keeps working while its database is emptied, replaced by another one, or restored to an earlier state. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { migrate } from '../migrate.ts'
import { outbox } from '../outbox.ts'
import { type Driven, drive } from '../testing/drivers.ts'
import { Engine, Lines } from '../testing/engine.ts'
import { Forwarder } from '../testing/forwarder.ts'
import { PostgresServer } from '../testing/postgres-server.ts'
import { until } from '../testing/until.ts'
import { type OutboxRelay, outboxRelay } from './relay.ts'
import { MOVE_MARK } from './statements.ts'

describe('a relay whose database changes', () => {
  let server: PostgresServer
  let driven: Driven
  let forwarder: Forwarder
  let seen: Driven
  let engine: Engine
  let relay: OutboxRelay
  before(async () => {
    server = await PostgresServer.start()
  })
  after(() => server.stop())
  beforeEach(async () => {
    const url = await server.database()
    driven = drive('pg', url)
    await migrate(driven.sql)
    forwarder = await Forwarder.to(url)
    seen = drive('pg', forwarder.url, 3)
    engine = new Engine()
    relay = outboxRelay({ sql: seen.sql, client: engine, logger: new Lines(), pollInterval: 20 })
    await relay.start()
  })
  afterEach(async () => {
    await relay.stop()
    await seen.end()
    await driven.end()
    forwarder.stop()
  })

  const name = () => new URL(forwarder.url).pathname.slice(1)

  /** Publishes events of one key. */
  async function publish(to: Driven, first: number, count: number): Promise<void> {
    for (let n = first; n < first + count; n++)
      await to.begin((tx) => outbox(tx).publish('told', n, { key: 'k' }))
  }

  /** Waits until the mark is at the last event, so that the relay reads no events below it. */
  async function settled(of: Driven): Promise<void> {
    await until(async () => {
      await of.query(MOVE_MARK)
      const [row] = await of.query(
        'select position = (select max(position) from elysia_microservices.outbox) as at from elysia_microservices.mark'
      )
      return row!['at'] === true
    })
  }

  const published = async (count: number) => {
    await until(() => engine.stored.length >= count)
    assert.deepEqual(
      engine.of('told'),
      Array.from({ length: count }, (_, n) => n)
    )
  }

  for (const identity of ['restart identity', 'continue identity'])
    it(`publishes what comes after a truncation (${identity})`, async () => {
      await publish(driven, 0, 20)
      await published(20)
      await settled(driven)
      await driven.query(`truncate elysia_microservices.outbox ${identity}`)
      await publish(driven, 20, 10)
      await published(30)
    })

  it('publishes what is in another database that answers in place of the first', async () => {
    await publish(driven, 0, 20)
    await published(20)
    await settled(driven)
    const other = await PostgresServer.start()
    try {
      const url = await other.database(name())
      const fresh = drive('pg', url)
      await migrate(fresh.sql)
      await publish(fresh, 20, 10)
      forwarder.turn(url)
      await published(30)
      await fresh.end()
    } finally {
      await other.stop()
    }
  })

  it('publishes what a standby has that took over, which knows less than the lost server', async () => {
    await publish(driven, 0, 10)
    await published(10)
    await settled(driven)
    await driven.end()
    const standby = await server.standby()
    try {
      // The standby replicates, then loses its connection, and does not get later events.
      const following = drive('pg', standby.address(name()))
      driven = drive('pg', server.address(name()))
      const [row] = await driven.query('select pg_current_wal_lsn()::text as at')
      await until(async () => {
        const [replayed] = await following.query('select pg_last_wal_replay_lsn() >= $1::pg_lsn as is', [
          row!['at'] as string
        ])
        return replayed!['is'] === true
      })
      await following.query("alter system set primary_conninfo = ''")
      await following.query('select pg_reload_conf()')
      await until(async () => {
        const [receiver] = await following.query('select count(*)::integer as n from pg_stat_wal_receiver')
        return receiver!['n'] === 0
      })
      await publish(driven, 10, 60)
      await published(70)
      await settled(driven)
      await standby.promote()
      forwarder.turn(standby.address(name()))
      await server.kill()
      // These events have the positions of events that are lost with the first server.
      await publish(following, 70, 10)
      await published(80)
      const [last] = await following.query(
        'select max(position)::integer as of from elysia_microservices.outbox'
      )
      assert.ok((last!['of'] as number) < 70, String(last!['of']))
      await following.end()
    } finally {
      await standby.stop()
      await server.start()
    }
  })

  it('publishes what a dump has, in a server with other numbers of transactions', async () => {
    await publish(driven, 0, 20)
    await published(20)
    await settled(driven)
    const other = await PostgresServer.start()
    try {
      const url = await other.database(name())
      const restored = drive('pg', url)
      await migrate(restored.sql)
      // Copies the rows as pg_restore does.
      const rows = await driven.query('select * from elysia_microservices.outbox order by position')
      for (const row of rows)
        await restored.query(
          'insert into elysia_microservices.outbox (position, id, pattern, key, data, published_at) ' +
            'overriding system value values ($1, $2, $3, $4, $5, $6)',
          ['position', 'id', 'pattern', 'key', 'data', 'published_at'].map((column) =>
            column === 'published_at' && Number(row['position']) > 18 ? null : row[column]
          ) as string[]
        )
      await restored.query(
        "select setval(pg_get_serial_sequence('elysia_microservices.outbox', 'position'), 20)"
      )
      await restored.query(
        "update elysia_microservices.mark set position = 18, next_position = 20, next_transaction = '4000000000'"
      )
      forwarder.turn(url)
      await until(() => engine.stored.length === 22)
      assert.deepEqual(engine.of('told').slice(20), [18, 19])
      await publish(restored, 22, 10)
      await until(() => engine.stored.length === 32)
      await settled(restored)
      await restored.end()
    } finally {
      await other.stop()
    }
  })

  it('publishes what is to be published again by hand, when it is started', async () => {
    await publish(driven, 0, 20)
    await published(20)
    await settled(driven)
    await relay.stop()
    await driven.query('update elysia_microservices.outbox set published_at = null where position = 7')
    const next = outboxRelay({ sql: seen.sql, client: engine, logger: new Lines(), pollInterval: 20 })
    await next.start()
    await until(() => engine.stored.length === 21)
    assert.equal(engine.of('told').at(-1), 6)
    await next.stop()
  })
})

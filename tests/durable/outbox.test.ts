/** From one database to another: outbox, relay, a real NATS server that is killed, durable handlers, inbox. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { inbox, migrate, outbox, outboxRelay } from '@elysia-microservices/outbox'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import pg from 'pg'
import { Log } from '../support/log.ts'
import { isMissing } from '../support/missing.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { until } from '../support/within.ts'

const COMMITTED = 600
const KEYS = 10

if (!isMissing('events from the outbox to the inbox', natsMissing())) {
  describe('an event from the outbox to the inbox', () => {
    let server: NatsServerProcess
    let folder: string
    let database: Postgres
    const pools: pg.Pool[] = []

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'outbox-'))
      server = await NatsServerProcess.start('-js', '-sd', folder)
      database = await startPostgres()
    })
    after(async () => {
      await Promise.all(pools.map((pool) => pool.end()))
      await database.stop()
      await server.stop()
      await rm(folder, { recursive: true })
    })

    async function newPool(): Promise<pg.Pool> {
      const pool = new pg.Pool({ connectionString: await database.database() })
      pool.on('error', () => {})
      pools.push(pool)
      await migrate(pool)
      return pool
    }

    it('has its effect once if it was committed, and none if not, while the server is killed', async () => {
      const [orders, accounts] = [await newPool(), await newPool()]
      await accounts.query('create table effects (n int, key text, at serial)')
      const { logger } = new Log()
      const transport = () => nats({ servers: server.url, durable: { ackWait: 1_000 } })
      const handled = inbox(accounts, 'accounts')
      let seen = 0
      const service = microservice({ name: 'accounts', transport: transport(), logger }).event(
        'order.settled',
        async ({ data, delivery }: Message<{ n: number; key: string }>) => {
          await handled.once(delivery?.id as string, async (tx) => {
            await tx.query('insert into effects (n, key) values ($1, $2)', [data.n, data.key])
          })
          // The effect has happened, and the handler fails: the event comes again.
          if (++seen % 50 === 0) throw new Error('after the effect')
        },
        { durable: { ordered: true, retry: { attempts: 20, delay: 20 } } }
      )
      await service.listen()
      const client = connect({ transport: transport(), logger })
      const relay = outboxRelay({ sql: orders, client, logger })
      await relay.start()

      const writer = await orders.connect()
      for (let n = 0; n < COMMITTED; n++) {
        await writer.query('begin')
        const key = `key ${n % KEYS}`
        await outbox(writer).publish('order.settled', { n, key }, { key })
        await writer.query('commit')
        if (n % 10 === 0) {
          await writer.query('begin')
          await outbox(writer).publish('order.settled', { n: -1, key }, { key })
          await writer.query('rollback')
        }
        if (n % 200 === 100) {
          await server.stop()
          await server.start()
        }
      }
      writer.release()
      const effects = async () =>
        (await accounts.query<{ n: number; key: string }>('select n, key from effects order by at')).rows
      await until('All have had their effect', async () => (await effects()).length >= COMMITTED)
      await until('Nothing is pending', async () => (await relay.stats()).pending === 0)
      await relay.stop()
      await service.stop()
      await client.close()
      const rows = await effects()
      assert.deepEqual(
        rows.map(({ n }) => n).sort((a, b) => a - b),
        Array.from({ length: COMMITTED }, (_, n) => n)
      )
      for (let k = 0; k < KEYS; k++) {
        const ofKey = rows.filter(({ key }) => key === `key ${k}`).map(({ n }) => n)
        assert.deepEqual(
          ofKey,
          [...ofKey].sort((a, b) => a - b)
        )
      }
    })
  })
}

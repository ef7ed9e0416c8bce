/** From one database to another: outbox, relay, an engine that is killed, durable handlers, inbox. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { RunningEngine } from '@elysia-microservices/engine-tests'
import { nats } from '@elysia-microservices/nats'
import { inbox, migrate, outbox, outboxRelay } from '@elysia-microservices/outbox'
import { isMissing, Log, until } from '@elysia-microservices/test-support'
import { type Message, microservice } from 'elysia-microservices'
import { connect, type StoringTransport } from 'elysia-microservices/client'
import pg from 'pg'
import { overEngines } from '../engines/needs.ts'
import { STAND_INS } from '../engines/stand-ins.ts'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'

const COMMITTED = 600
const KEYS = 10

/** A PostgreSQL server with databases that have the tables of outbox and inbox. */
class Databases {
  readonly #pools: pg.Pool[] = []
  #server!: Postgres

  async start(): Promise<void> {
    this.#server = await startPostgres()
  }

  readonly newPool = async (): Promise<pg.Pool> => {
    const pool = new pg.Pool({ connectionString: await this.#server.database() })
    pool.on('error', () => {})
    this.#pools.push(pool)
    await migrate(pool)
    return pool
  }

  async stop(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()))
    await this.#server.stop()
  }
}

if (!isMissing('what NATS refuses of the outbox', natsMissing())) {
  describe('an event from the outbox to NATS', () => {
    let server: NatsServerProcess
    let folder: string
    const databases = new Databases()

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'outbox-'))
      server = await NatsServerProcess.start('-js', '-sd', folder)
      await databases.start()
    })
    after(async () => {
      await databases.stop()
      await server.stop()
      await rm(folder, { recursive: true })
    })

    it('is put aside if NATS refuses it for ever, and does not delay other events', async () => {
      const pool = await databases.newPool()
      const { logger } = new Log()
      const transport = () => nats({ url: server.url, durable: {} })
      const seen: unknown[] = []
      const service = microservice({ name: 'readers', transport: transport(), logger }).event(
        'refused.told',
        ({ data }: Message<string>) => void seen.push(data),
        { durable: true }
      )
      await service.listen()
      const client = connect({ transport: transport() as StoringTransport, logger })
      const relay = outboxRelay({ sql: pool, client, logger })
      await relay.start()
      const writer = await pool.connect()
      await writer.query('begin')
      const wrong: Record<string, string>[] = [
        { 'Nats-TTL': 'x' },
        { 'Nats-Expected-Stream': 'another' },
        { a: 'x'.repeat(30_000), b: 'x'.repeat(2_700) }
      ]
      const box = outbox(writer)
      for (const headers of wrong) await box.publish('refused.told', 'wrong', { key: 'k', headers })
      await assert.rejects(box.publish('refused.told', 1, { headers: { a: 'x'.repeat(70_000) } }), {
        path: 'options.headers'
      })
      await box.publish('refused.told', 'good', { key: 'k' })
      await writer.query('commit')
      writer.release()
      await until('The good one is handled', () => seen.includes('good'))
      await until('Nothing is pending', async () => (await relay.stats()).pending === 0)
      assert.equal((await relay.stats()).failed, 2)
      await relay.stop()
      await service.stop()
      await client.close()
    })
  })
}

overEngines(
  'events from the outbox to the inbox',
  ['stores', 'server', 'once'],
  ({ title, start }, caseOf) => {
    describe(`an event from the outbox to the inbox over ${title}`, () => {
      let engine: RunningEngine
      const databases = new Databases()

      before(async () => {
        engine = await start()
        await databases.start()
      })
      after(async () => {
        await databases.stop()
        await engine.close()
      })

      caseOf(
        'has its effect once if it was committed, and none if not, while the server is killed',
        [],
        async () => {
          const [orders, accounts] = [await databases.newPool(), await databases.newPool()]
          await accounts.query('create table effects (n int, key text, at serial)')
          const { logger } = new Log()
          const transport = () => engine.transport()
          const handled = inbox(accounts, 'accounts')
          let seen = 0
          const service = microservice({ name: 'accounts', transport: transport(), logger }).event(
            'order.settled',
            async ({ data, delivery }: Message<{ n: number; key: string }>) => {
              await handled.once(delivery?.id as string, async (tx) => {
                await tx.query('insert into effects (n, key) values ($1, $2)', [data.n, data.key])
              })
              // The effect is committed and then the handler fails: the event is delivered again.
              if (++seen % 50 === 0) throw new Error('after the effect')
            },
            { durable: { ordered: true, retry: { attempts: 20, minDelay: 20 } } }
          )
          await service.listen()
          const client = connect({ transport: transport() as StoringTransport, logger })
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
              await engine.stop()
              await engine.start()
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
        }
      )
    })
  },
  STAND_INS
)

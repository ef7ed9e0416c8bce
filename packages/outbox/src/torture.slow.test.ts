/**
 * Relays and PostgreSQL are killed while events are written. No event is lost, events of each key keep their order,
 * and the effects behind an inbox happen once. `OUTBOX_TORTURE=long` kills more often, and tests every driver on
 * every runtime; otherwise each runtime tests one driver.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { TransactionSql } from './database/adapter.ts'
import { inbox } from './inbox.ts'
import { migrate } from './migrate.ts'
import { outbox } from './outbox.ts'
import { DRIVERS, type Driven, drive, MAIN_DRIVER } from './testing/drivers.ts'
import { PostgresServer } from './testing/postgres-server.ts'
import { STEPS } from './testing/relay-program.ts'
import { Relays } from './testing/relays.ts'
import { Sink } from './testing/sink.ts'
import { until } from './testing/until.ts'

const isLong = process.env['OUTBOX_TORTURE'] === 'long'
const TORTURED = isLong ? DRIVERS : [MAIN_DRIVER]
const KEYS = 20
const WRITERS = 4

/** Writes events with a few keys in concurrent transactions, some of which are rolled back. */
class Writers {
  readonly #driven: Driven
  readonly #pace: number
  #isStopping = false
  #running: Promise<unknown>
  /** The number of transactions that are known to be committed. */
  committed = 0
  /** The number of transactions with an unknown outcome, because the server was killed. */
  unknown = 0

  constructor(driven: Driven, pace: number) {
    this.#driven = driven
    this.#pace = pace
    this.#running = Promise.all(Array.from({ length: WRITERS }, (_, writer) => this.#run(writer)))
  }

  async #run(writer: number): Promise<void> {
    for (let turn = writer; !this.#isStopping; turn++) {
      const key = `key ${turn % KEYS}`
      const isRolledBack = turn % 7 === 3
      const rollback = new Error('rolled back')
      try {
        await this.#driven.begin(async (tx) => {
          const n = await this.#next(key, tx)
          await outbox(tx).publish('counted', { key, n }, { key })
          if (turn % 3 === 0) await outbox(tx).publish('plain', { turn })
          if (isRolledBack) throw rollback
        })
        this.committed++
      } catch (error) {
        if (error !== rollback) this.unknown++
      }
      await new Promise((resolve) => setTimeout(resolve, this.#pace))
    }
  }

  async #next(key: string, tx: TransactionSql): Promise<number> {
    const text = 'update counter set n = n + 1 where key = $1 returning n'
    const [row] = await this.#driven.query(text, [key], tx)
    return Number(row!['n'])
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }
}

/** Handles the events that the sink receives, several at a time, until each event is handled. */
class Consumer {
  handled = 0
  #isStopping = false
  readonly #running: Promise<unknown>
  #next = 0

  constructor(driven: Driven, sink: Sink) {
    const box = inbox(driven.sql, 'consumer')
    const run = async () => {
      while (true) {
        const event = sink.events[this.#next]
        if (event === undefined) {
          if (this.#isStopping) return
          await new Promise((resolve) => setTimeout(resolve, 5))
          continue
        }
        this.#next++
        const effect = (tx: unknown) =>
          driven.query('insert into effect (id) values ($1)', [event.id], tx as never)
        // As a broker does: delivers an event until it is acknowledged, and some events twice.
        for (let left = this.#next % 5 === 0 ? 2 : 1; left > 0; )
          await box.once(event.id, effect).then(
            () => left--,
            () => new Promise((resolve) => setTimeout(resolve, 20))
          )
        this.handled++
      }
    }
    this.#running = Promise.all(Array.from({ length: 4 }, run))
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }
}

for (const driver of TORTURED)
  describe(`with ${driver}`, () => {
    let server: PostgresServer
    let url: string
    let driven: Driven
    /**
     * The writers always use pg: postgres.js ends the process if its server is killed within a transaction
     * (porsager/postgres#1208).
     */
    let writing: Driven
    let sink: Sink
    before(async () => {
      server = await PostgresServer.start()
      url = await server.database()
      driven = drive(driver, url)
      writing = drive('pg', url)
      await migrate(driven.sql)
      await driven.query('create table counter (key text primary key, n integer not null)')
      await driven.query('create table effect (id text not null)')
      for (let n = 0; n < KEYS; n++) await driven.query('insert into counter values ($1, 0)', [`key ${n}`])
      sink = await Sink.start()
    })
    after(async () => {
      for (const relays of Relays.all) await relays.kill()
      sink.stop()
      await driven.end()
      await writing.end()
      await server.stop()
    })

    async function check(writers: Writers, consumer: Consumer): Promise<void> {
      await writers.stop()
      const last = outboxOf()
      // A connection may not have noticed yet that its server was killed.
      await until(async () => (await pending().catch(() => 1)) === 0)
      await last.kill()
      await consumer.stop()
      const rows = await writing.query('select id from elysia_microservices.outbox')
      const sunk = new Set(sink.events.map(({ id }) => id))
      const lost = rows.filter(({ id }) => !sunk.has(id as string))
      assert.equal(lost.length, 0, 'lost')
      assert.equal(sunk.size, rows.length, 'published, and not committed')
      assert.ok(rows.length >= writers.committed)
      const known = new Set<string>()
      const next = new Map<string, number>()
      for (const { id, pattern, data } of sink.events) {
        if (pattern !== 'counted' || known.has(id)) continue
        known.add(id)
        const { key, n } = data as { key: string; n: number }
        assert.equal(n, (next.get(key) ?? 0) + 1, `the order of ${key}`)
        next.set(key, n)
      }
      const effects = await writing.query('select id, count(*)::integer as times from effect group by id')
      assert.equal(effects.length, rows.length, 'effects')
      assert.deepEqual(
        effects.filter(({ times }) => times !== 1),
        [],
        'doubled effects'
      )
      const duplicates = sink.events.length - sunk.size
      console.log(
        `${driver}: ${rows.length} events (${writers.unknown} transactions of unknown end), ${duplicates} duplicates`
      )
    }

    const outboxOf = () => {
      const relays = new Relays(driver, url, sink)
      relays.start()
      return relays
    }
    const pending = async () => {
      const [row] = await writing.query(
        'select count(*)::integer as n from elysia_microservices.outbox where published_at is null'
      )
      return row!['n'] as number
    }

    it('loses nothing while relays are killed', async () => {
      const writers = new Writers(writing, 5)
      const consumer = new Consumer(driven, sink)
      const relays = new Relays(driver, url, sink)
      const rounds = isLong ? 7 : 1
      for (let round = 0; round < rounds; round++) {
        if (driver === 'pg') {
          // Two relays at a time, each of which kills itself at its step.
          for (let index = 0; index < STEPS.length; index += 2) {
            const ended = [index, index + 1].map(
              (step) => relays.start(STEPS[step]!, String(1 + (round % 3))).ended
            )
            assert.deepEqual(await Promise.all(ended), ['SIGKILL', 'SIGKILL'])
          }
        } else {
          for (let time = 0; time < 4; time++) {
            const killed = [relays.start(), relays.start()]
            const before = sink.events.length
            await until(() => sink.events.length > before + Math.random() * 40)
            for (const { child } of killed) child.kill('SIGKILL')
            await Promise.all(killed.map(({ ended }) => ended))
          }
        }
      }
      await check(writers, consumer)
    })

    it('loses nothing while PostgreSQL is killed', async () => {
      const writers = new Writers(writing, 5)
      const consumer = new Consumer(driven, sink)
      const relays = new Relays(driver, url, sink)
      await Promise.all([relays.keep(), relays.keep()])
      for (let time = 0; time < (isLong ? 20 : 2); time++) {
        const before = sink.events.length
        await until(() => sink.events.length > before + 20 + Math.random() * 40)
        await server.kill()
        await server.start()
      }
      const before = sink.events.length
      await until(() => sink.events.length > before + 20)
      await relays.kill()
      assert.equal(relays.crashes, 0)
      await check(writers, consumer)
    })
  })

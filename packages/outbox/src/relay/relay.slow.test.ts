/** The events that a relay publishes, their order, and failures, with each driver. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { isOnPush } from '@elysia-microservices/test-support'
import {
  ConnectionError,
  EventRefusedError,
  NotStoredError,
  OptionError,
  PayloadTooLargeError
} from '@elysia-microservices/transport'
import type { TransactionSql } from '../database/adapter.ts'
import { migrate } from '../migrate.ts'
import { type OutboxPublishOptions, outbox } from '../outbox.ts'
import { DRIVERS, type Driven, drive, MAIN_DRIVER } from '../testing/drivers.ts'
import { Engine, Lines } from '../testing/engine.ts'
import { PostgresServer } from '../testing/postgres-server.ts'
import { until } from '../testing/until.ts'
import type { OutboxRelayOptions } from './options.ts'
import { type OutboxRelay, outboxRelay } from './relay.ts'
import { LEAD } from './statements.ts'

let server: PostgresServer
before(async () => {
  server = await PostgresServer.start()
})
after(() => server.stop())

/** Longer than any test: a relay with this interval publishes only if it is woken. */
const NEVER = 2 ** 31 - 1

for (const driver of isOnPush ? [MAIN_DRIVER] : DRIVERS)
  describe(`a relay with ${driver}`, () => {
    let driven: Driven
    let engine: Engine
    let lines: Lines
    let relays: OutboxRelay[]
    /** Ends what a test has left under way, which a relay that stops would wait for. */
    let letGo: () => void
    before(async () => {
      driven = drive(driver, await server.database())
      await migrate(driven.sql)
    })
    after(() => driven.end())
    beforeEach(async () => {
      await driven.query('truncate elysia_microservices.outbox')
      engine = new Engine()
      lines = new Lines()
      relays = []
      letGo = () => {}
    })
    afterEach(async () => {
      letGo()
      for (const relay of relays) await relay.stop()
    })

    function make(options: Partial<OutboxRelayOptions> = {}): OutboxRelay {
      const relay = outboxRelay({
        sql: driven.sql,
        client: engine,
        logger: lines,
        pollInterval: 50,
        ...options
      })
      relays.push(relay)
      return relay
    }

    const publish = (pattern: string, data: unknown, options?: OutboxPublishOptions) =>
      driven.begin((tx) => outbox(tx).publish(pattern, data, options))
    const isAsleep = async () => {
      const [row] = await driven.query('select asleep from elysia_microservices.relay')
      return row!['asleep'] === true
    }

    it('publishes what was committed, as it was written', async () => {
      await publish('a', { n: 1 }, { id: 'one', key: 'k', headers: { tenant: 'x' } })
      await publish('a', undefined, { id: 'two' })
      await driven
        .begin(async (tx) => {
          await outbox(tx).publish('a', 'rolled back')
          throw new Error('no')
        })
        .catch(() => {})
      await make({ publishTimeout: 7_000 }).start()
      await until(() => engine.stored.length === 2)
      await publish('a', 3, { id: 'three' })
      await until(() => engine.stored.length === 3)
      const found = new Map(engine.stored.map((event) => [event.options?.id, event]))
      assert.deepEqual(found.get('one'), {
        pattern: 'a',
        data: { n: 1 },
        options: { id: 'one', key: 'k', headers: { tenant: 'x' }, timeout: 7_000 }
      })
      assert.deepEqual(found.get('two'), {
        pattern: 'a',
        data: undefined,
        options: { id: 'two', timeout: 7_000 }
      })
      assert.equal(found.get('three')?.data, 3)
    })

    it('is woken by a commit', async () => {
      await make({ pollInterval: NEVER }).start()
      for (const n of [1, 2]) {
        // Waits for the last reading before the relay sleeps, so that this reading does not find the event.
        await until(isAsleep)
        await new Promise((resolve) => setTimeout(resolve, 100))
        await publish('woken', n)
        await until(() => engine.of('woken').length === n)
      }
    })

    it('listens again when the connection that listens is lost, and finds what was committed meanwhile', async () => {
      await make({ pollInterval: NEVER }).start()
      for (const n of [1, 2, 3]) {
        await until(isAsleep)
        const listening = "datname = current_database() and query ilike 'listen %'"
        await until(async () => {
          const rows = await driven.query(
            `select pg_terminate_backend(pid) from pg_stat_activity where ${listening}`
          )
          return rows.length > 0
        })
        await publish('unheard', n)
        await until(() => engine.of('unheard').length === n)
      }
    })

    it('publishes the events of a key one after the other, other events meanwhile', async () => {
      await driven.begin(async (tx) => {
        for (let n = 0; n < 30; n++) {
          await outbox(tx).publish('a', n, { key: 'a' })
          await outbox(tx).publish('b', n, { key: 'b' })
          await outbox(tx).publish('c', n)
        }
      })
      await make({ batch: 40 }).start()
      await until(() => engine.stored.length === 90)
      const inOrder = Array.from({ length: 30 }, (_, n) => n)
      assert.deepEqual(engine.of('a'), inOrder)
      assert.deepEqual(engine.of('b'), inOrder)
      assert.equal(engine.mostOfOneKey, 1)
      assert.ok(engine.mostUnderWay > 2 && engine.mostUnderWay <= 40, String(engine.mostUnderWay))
    })

    it('has not more of large events under way than memory allows', async () => {
      // Random data, so that PostgreSQL cannot compress it.
      const random = () => randomBytes(3 * 1024 * 1024).toString('base64')
      for (let n = 0; n < 12; n++) await publish('large', random())
      await make().start()
      await until(() => engine.stored.length === 12)
      assert.ok(engine.mostUnderWay >= 2 && engine.mostUnderWay <= 6, String(engine.mostUnderWay))
    })

    it('finds an event whose transaction lasts longer than those of many later ones', async () => {
      await make().start()
      await driven.begin(async (tx) => {
        await outbox(tx).publish('a', 'early')
        for (let n = 0; n < 20; n++) await publish('a', n)
        await until(() => engine.stored.length === 20)
        await until(isAsleep)
      })
      await until(() => engine.stored.length === 21)
      assert.equal(engine.of('a').at(-1), 'early')
    })

    it('tries an event again that failed: its key waits, others do not', async () => {
      let failures = 0
      engine.fail = ({ data }) => {
        if (data !== 'bad' || failures === 3) return undefined
        failures++
        throw new ConnectionError('down', true)
      }
      await driven.begin(async (tx) => {
        await outbox(tx).publish('a', 'bad', { key: 'k' })
        await outbox(tx).publish('a', 'behind', { key: 'k' })
        await outbox(tx).publish('a', 'other', { key: 'other' })
        await outbox(tx).publish('a', 'none')
      })
      const relay = make()
      await relay.start()
      await until(() => engine.stored.length === 4)
      assert.deepEqual(new Set(engine.of('a').slice(0, 2)), new Set(['other', 'none']))
      assert.deepEqual(engine.of('a').slice(2), ['bad', 'behind'])
      await until(async () => (await relay.stats()).pending === 0)
      assert.equal((await relay.stats()).retries, 3)
      assert.match(lines.warnings[0]!, /Event \S+ of 'a' cannot be published, trying again: .*down/)
    })

    it("tries failed events again when PostgreSQL's clock was set back, in the order of their key", async () => {
      let isDown = true
      engine.fail = () => (isDown ? Promise.reject(new ConnectionError('down', false)) : undefined)
      for (const data of ['first', 'second']) await publish('a', data, { key: 'k' })
      await publish('a', 'other')
      const relay = make()
      await relay.start()
      await until(async () => (await relay.stats()).retries >= 2)
      await relay.stop()
      // The table is as if the clock were set back by a year: 'other' failed before that, 'first' afterwards. 'second' was
      // put aside and sent again before.
      await driven.query(
        "update elysia_microservices.outbox set retry_at = clock_timestamp() + interval '1 year' where data::text <> '\"first\"'"
      )
      await driven.query(
        "update elysia_microservices.outbox set retry_at = clock_timestamp() + interval '1 second' where data::text = '\"first\"'"
      )
      isDown = false
      await make().start()
      await until(() => engine.stored.length === 3)
      const ofKey = engine.stored.filter(({ options }) => options?.key === 'k')
      assert.deepEqual(
        ofKey.map(({ data }) => data),
        ['first', 'second']
      )
    })

    it('keeps its order and everything while the engine is down', async () => {
      let isDown = true
      let attempts = 0
      engine.fail = () => {
        attempts++
        return isDown ? Promise.reject(new ConnectionError('down', false)) : undefined
      }
      for (let n = 0; n < 50; n++) await publish('a', n, { key: `k${n % 5}` })
      const relay = make()
      await relay.start()
      await until(() => attempts > 10)
      assert.equal((await relay.stats()).pending, 50)
      isDown = false
      await until(() => engine.stored.length === 50)
      for (let key = 0; key < 5; key++) {
        const ofKey = engine.stored.filter(({ options }) => options?.key === `k${key}`)
        assert.deepEqual(
          ofKey.map(({ data }) => data),
          Array.from({ length: 10 }, (_, n) => n * 5 + key)
        )
      }
    })

    it('puts aside what can never be published, which holds up nobody', async () => {
      engine.fail = ({ data }) => {
        if (data === 'large') throw new PayloadTooLargeError('max_payload', 1, 2, 'bytes')
      }
      const { id } = await publish('a', 'large', { key: 'k', headers: { h: '1' } })
      await publish('a', 'behind', { key: 'k' })
      const relay = make()
      await relay.start()
      await until(() => engine.stored.length === 1)
      assert.deepEqual(engine.of('a'), ['behind'])
      await until(async () => (await relay.stats()).failed === 1)
      assert.equal(lines.errors.length, 1)
      assert.match(lines.errors[0]!, new RegExp(`Event ${id} of 'a' is put aside.*2 bytes are more than`))
      const [failed] = await relay.failed.list()
      const { position, reason, failedAt, ...rest } = failed!
      assert.match(reason, /^PayloadTooLargeError: 2 bytes/)
      assert.ok(failedAt instanceof Date && !Number.isNaN(failedAt.getTime()))
      assert.deepEqual(rest, {
        id,
        pattern: 'a',
        key: 'k',
        headers: { h: '1' },
        data: 'large',
        attempts: 1
      })
      assert.deepEqual(await relay.failed.list({ after: position }), [])

      engine.fail = () => undefined
      assert.equal(await relay.failed.redrive([position]), 1)
      await until(() => engine.stored.length === 2)
      assert.deepEqual(engine.of('a'), ['behind', 'large'])
      assert.equal(await relay.failed.redrive([position]), 0)
    })

    it('keeps the order of a key of events that were put aside and are sent again', async () => {
      engine.fail = () => {
        throw new EventRefusedError('not today')
      }
      for (const data of ['first', 'second', 'third']) await publish('a', data, { key: 'k' })
      const relay = make()
      await relay.start()
      await until(async () => (await relay.stats()).failed === 3)
      let failures = 0
      engine.fail = ({ data }) => {
        if (data === 'first' && ++failures <= 2) throw new ConnectionError('down', false)
      }
      await relay.failed.redrive((await relay.failed.list()).map(({ position }) => position).reverse())
      await until(() => engine.stored.length === 3)
      assert.deepEqual(engine.of('a'), ['first', 'second', 'third'])
    })

    it('keeps the order of a key behind a large event, also when an event has no data', async () => {
      const large = randomBytes(13 * 1024 * 1024).toString('base64')
      await driven.begin(async (tx) => {
        await outbox(tx).publish('a', large)
        await outbox(tx).publish('a', 'with data', { key: 'k' })
        await outbox(tx).publish('a', undefined, { key: 'k' })
      })
      await make().start()
      await until(() => engine.stored.length === 3)
      assert.deepEqual(engine.of('a').slice(-2), ['with data', undefined])
    })

    it('puts nothing aside when the client does not fit the engine', async () => {
      let isWrong = true
      let attempts = 0
      engine.fail = ({ data }) => {
        if (isWrong)
          throw attempts++ % 2 === 0
            ? new OptionError('options.durable', 'The stream exists with other settings')
            : new OptionError('options.cluster', 'The server is no node of a cluster')
        if (data === 'wrong') throw new OptionError('options.headers.x', 'x must be a text')
      }
      for (const data of ['right', 'wrong']) await publish('a', data)
      const relay = make()
      await relay.start()
      await until(async () => (await relay.stats()).retries > 2)
      assert.equal((await relay.stats()).failed, 0)
      isWrong = false
      await until(async () => (await relay.stats()).failed === 1 && engine.stored.length === 1)
      assert.deepEqual(engine.of('a'), ['right'])
    })

    it('publishes over a connection of which PostgreSQL soon notices that it has vanished', async () => {
      const settings: unknown[] = []
      await driven.begin(async (tx) => {
        await driven.query(LEAD, [], tx as TransactionSql)
        for (const name of ['tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count'])
          settings.push((await driven.query(`show ${name}`, [], tx as TransactionSql))[0]?.[name])
      })
      assert.deepEqual(settings, ['10', '5', '3'])
    })

    it('tells what the engine refuses for ever from what it does not take now', async () => {
      let isFull = true
      engine.fail = ({ data }) => {
        if (data === 'wrong') throw new EventRefusedError('the header is no number')
        if (data === 'unlucky' && isFull) throw new NotStoredError('the stream is full', false)
      }
      await publish('a', 'wrong', { key: 'k' })
      await publish('a', 'unlucky', { key: 'k' })
      await publish('a', 'behind', { key: 'k' })
      const relay = make()
      await relay.start()
      await until(async () => (await relay.stats()).failed === 1 && (await relay.stats()).retries > 2)
      assert.equal((await relay.stats()).pending, 2)
      isFull = false
      await until(() => engine.stored.length === 2)
      assert.deepEqual(engine.of('a'), ['unlucky', 'behind'])
      assert.match((await relay.failed.list())[0]!.reason, /^EventRefusedError: the header is no number/)
    })

    it('discards what is put aside, when it is told to', async () => {
      engine.fail = () => Promise.reject(new PayloadTooLargeError('max_payload', 1, 2, 'bytes'))
      await publish('a', 1)
      const relay = make()
      await relay.start()
      await until(async () => (await relay.stats()).failed === 1)
      const [failed] = await relay.failed.list({ limit: 1 })
      assert.equal(await relay.failed.discard([failed!.position]), 1)
      assert.equal((await relay.stats()).failed, 0)
      await assert.rejects(relay.failed.discard(['1; drop table x']), { path: 'positions[0]' })
    })

    it('survives whatever a publisher does', async () => {
      const hostile = new Proxy(new Error('x'), {
        get() {
          throw new Error('unreadable')
        },
        getPrototypeOf() {
          throw new Error('unreadable')
        }
      })
      const tricks: (() => unknown)[] = [
        () => {
          throw hostile
        },
        () => Promise.reject(undefined),
        () => Promise.reject(hostile),
        () => new Promise(() => {}),
        () => {
          throw 'text \0'
        },
        () => Promise.reject(new Error('half \ud800 \0'))
      ]
      engine.fail = () => tricks.shift()?.()
      for (let n = 0; n < 6; n++) await publish('a', n)
      await make({ publishTimeout: 500 }).start()
      await until(() => engine.stored.length === 6)
      assert.equal(tricks.length, 0)
      // All failures could be stored in the database: each warning is about an event, and none about the database.
      assert.ok(lines.warnings.length > 0 && lines.warnings.every((line) => line.startsWith('Event')))
    })

    it('publishes in one of several relays at a time, and goes on without one of them', async () => {
      const [one, two, three] = [make({ batch: 7 }), make({ batch: 7 }), make({ batch: 7 })]
      for (const relay of [one, two, three]) await relay.start()
      const data: number[] = []
      for (let n = 0; n < 200; n++) {
        if (n === 100) await one.stop()
        data.push(n)
        await publish('a', n, { key: 'k' })
      }
      await until(() => engine.stored.length === 200)
      assert.deepEqual(engine.of('a'), data)
      assert.equal(engine.mostOfOneKey, 1)
      await until(async () => (await two.stats()).pending === 0)
      const all = await Promise.all([one, two, three].map((relay) => relay.stats()))
      assert.equal(
        all.reduce((sum, { published }) => sum + published, 0),
        200
      )
    })

    it('ends after what is under way, and the next relay publishes the rest', async () => {
      let release: () => void = () => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      engine.fail = ({ data }) => (data === 0 ? held.then(() => ({ duplicate: false })) : undefined)
      for (let n = 0; n < 3; n++) await publish('a', n, { key: 'k' })
      const relay = make()
      await relay.start()
      await until(() => engine.underWay === 1)
      const stopping = relay.stop()
      release()
      await stopping
      assert.deepEqual(engine.of('a'), [])
      const next = make()
      assert.equal((await next.stats()).pending, 2)
      await next.start()
      await until(() => engine.stored.length === 2)
      assert.deepEqual(engine.of('a'), [1, 2])
    })

    it('lets only the later events of its key wait for an event that the engine does not answer', async () => {
      let answer: () => void = () => {}
      const answered = new Promise<void>((resolve) => {
        answer = resolve
      })
      engine.fail = ({ data }) =>
        data === 'silent' ? answered.then(() => ({ duplicate: false })) : undefined
      letGo = answer
      await publish('a', 'silent', { key: 'k' })
      await publish('a', 'behind', { key: 'k' })
      const relay = make({ publishTimeout: 2 ** 30 })
      await relay.start()
      await until(() => engine.underWay === 1)
      for (let n = 0; n < 3; n++) {
        await publish('a', n)
        await until(() => engine.stored.length === n + 1)
      }
      await until(async () => (await relay.stats()).pending === 2)
      // Another relay waits for the answer, too.
      const other = make()
      await other.start()
      await publish('a', 3)
      await until(() => engine.stored.length === 4)
      const stopping = relay.stop()
      answer()
      await stopping
      await until(() => engine.stored.length === 5)
      assert.deepEqual(engine.of('a'), [0, 1, 2, 3, 'behind'])
      await until(async () => (await other.stats()).pending === 0)
    })

    it('tells how far behind it is', async () => {
      const relay = make()
      assert.deepEqual(await relay.stats(), {
        published: 0,
        duplicates: 0,
        retries: 0,
        pending: 0,
        oldest: 0,
        failed: 0
      })
      await publish('a', 1)
      const behind = await relay.stats()
      assert.equal(behind.pending, 1)
      assert.ok(behind.oldest > 0)
      await relay.start()
      await until(async () => (await relay.stats()).pending === 0)
      const { published, oldest } = await relay.stats()
      assert.deepEqual({ published, oldest }, { published: 1, oldest: 0 })
    })

    it('prunes what is published, and nothing else', async () => {
      engine.fail = ({ data }) =>
        data === 'bad' ? Promise.reject(new ConnectionError('down', true)) : undefined
      await publish('a', 'bad', { key: 'k' })
      await publish('a', 'behind', { key: 'k' })
      for (let n = 0; n < 3; n++) await publish('a', n)
      const relay = make()
      await relay.start()
      await until(async () => (await relay.stats()).published === 3)
      await relay.stop()
      assert.equal(await relay.prune({ olderThan: 60_000 }), 0)
      assert.equal(await relay.prune({ olderThan: 0 }), 3)
      assert.equal((await relay.stats()).pending, 2)
    })

    it('refuses to start where there are no tables', async () => {
      const relay = make({ schema: 'nowhere' })
      await assert.rejects(relay.start(), {
        name: 'OptionError',
        path: 'options.schema',
        message: /await migrate\(sql, \{ schema: 'nowhere' \}\)/
      })
    })

    it('refuses options that are wrong', () => {
      const wrong: [object, string][] = [
        [{ client: {} }, 'options.client'],
        [{ sql: 7 }, 'sql'],
        [{ batch: 0 }, 'options.batch'],
        [{ batch: 1.5 }, 'options.batch'],
        [{ pollInterval: 0 }, 'options.pollInterval'],
        [{ publishTimeout: '1' }, 'options.publishTimeout'],
        [{ logger: {} }, 'options.logger'],
        [{ schema: 'A' }, 'options.schema'],
        [{ bach: 1 }, 'options.bach']
      ]
      for (const [options, path] of wrong)
        assert.throws(() => make(options as never), { name: 'OptionError', path })
    })
  })

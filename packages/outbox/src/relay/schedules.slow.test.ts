/**
 * Whatever open transactions do, a running relay publishes each committed event once, and events of a key in the
 * order of their commits.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { migrate } from '../migrate.ts'
import { outbox } from '../outbox.ts'
import { Engine, Lines } from '../testing/engine.ts'
import { OpenTransaction, type Told } from '../testing/open-transaction.ts'
import { PostgresServer } from '../testing/postgres-server.ts'
import { until } from '../testing/until.ts'
import { type OutboxRelay, outboxRelay } from './relay.ts'
import { MOVE_MARK } from './statements.ts'

/** At night there are ten times as many runs. */
const RUNS = Number(process.env['OUTBOX_SCHEDULES'] ?? 10)

/** Missing events count as skipped if the relays have found nothing in this number of readings. */
const ENOUGH = 40

/** A pool that counts the readings of relays. */
class CountingPool extends pg.Pool {
  readings = 0
  constructor(connectionString: string) {
    super({ connectionString, max: 6 })
    this.on('connect', (client) => {
      const query = client.query.bind(client) as (...given: unknown[]) => unknown
      Reflect.set(client, 'query', (...given: unknown[]) => {
        if (String(given[0]).includes('pg_try_advisory_xact_lock')) this.readings++
        return query(...given)
      })
    })
  }
}

let server: PostgresServer
let pool: pg.Pool
let reading: CountingPool
let engine: Engine
let lines: Lines
let relays: OutboxRelay[] = []
before(async () => {
  server = await PostgresServer.start('-c', 'max_prepared_transactions=20', '-c', 'deadlock_timeout=20ms')
  const url = await server.database()
  pool = new pg.Pool({ connectionString: url, max: 40 })
  reading = new CountingPool(url)
  // Connections of a pool that has ended may live on for a moment, and then fail.
  for (const each of [pool, reading])
    each.on('error', () => {}).on('connect', (client) => client.on('error', () => {}))
  await migrate(pool)
})
after(async () => {
  await pool.end()
  await reading.end()
  await server.stop()
})
beforeEach(async () => {
  await pool.query('truncate elysia_microservices.outbox')
  engine = new Engine()
  lines = new Lines()
})
afterEach(stopRelays)

async function stopRelays(): Promise<void> {
  for (const relay of relays) await relay.stop()
  relays = []
}

async function startRelays(count: number): Promise<void> {
  relays = Array.from({ length: count }, () =>
    outboxRelay({ sql: reading, client: engine, logger: lines, pollInterval: 3, batch: 5 })
  )
  for (const relay of relays) await relay.start()
}

/** Waits until all events are published, or until the relays have found nothing for {@link ENOUGH} readings. */
async function published(committed: readonly Told[]): Promise<void> {
  let found = engine.stored.length
  let since = reading.readings
  await until(() => {
    if (engine.stored.length > found) {
      found = engine.stored.length
      since = reading.readings
    }
    return found >= committed.length || reading.readings > since + ENOUGH
  })
  assert.deepEqual(
    engine.stored.map(({ options }) => options!.id).sort(),
    committed.map(({ id }) => id).sort()
  )
  for (const key of new Set(committed.map(({ key }) => key)))
    if (key !== undefined)
      assert.deepEqual(
        engine.stored.filter(({ options }) => options!.key === key).map(({ options }) => options!.id),
        committed.filter((event) => event.key === key).map(({ id }) => id),
        `the order of ${key}`
      )
}

const which = fc.nat({ max: 5 })
const key = fc.constantFrom(undefined, 'a', 'b', 'c')
const own = [
  { weight: 3, arbitrary: fc.tuple(fc.constant('begin' as const)) },
  { weight: 8, arbitrary: fc.tuple(fc.constant('publish' as const), which, key) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('savepoint' as const), which) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('release' as const), which) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('back' as const), which) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('commit' as const), which) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('rollback' as const), which) }
]
const step = fc.oneof(
  ...own,
  { weight: 1, arbitrary: fc.tuple(fc.constant('prepare' as const), which) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('other writes' as const)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('read' as const)) },
  // A relay runs this statement once per second.
  { weight: 4, arbitrary: fc.tuple(fc.constant('move mark' as const)) }
)
const steps = (of: fc.Arbitrary<Step>) => fc.array(of, { minLength: 10, maxLength: 60, size: 'max' })
type Step = typeof step extends fc.Arbitrary<infer Step> ? Step : never

/** Runs steps on a database, and records which events were committed. */
class Schedule {
  readonly #afterEach: () => Promise<void>
  readonly #open: OpenTransaction[] = []
  readonly #committed: Told[] = []
  #events = 0

  constructor(afterEach: () => Promise<void> = async () => {}) {
    this.#afterEach = afterEach
  }

  async run(steps: readonly Step[]): Promise<readonly Told[]> {
    try {
      for (const each of steps) {
        await this.#take(each)
        await this.#afterEach()
      }
      while (this.#open.length > 0) {
        await this.#endOne('commit')
        await this.#afterEach()
      }
      return this.#committed
    } finally {
      while (this.#open.length > 0) await this.#endOne('rollback')
    }
  }

  /**
   * Ends a transaction that does not wait for the key of another one. There always is such a transaction, since
   * PostgreSQL ends deadlocks.
   */
  async #endOne(how: 'commit' | 'rollback'): Promise<void> {
    await Promise.race(this.#open.map((transaction) => transaction.idle))
    await this.#end(
      this.#open.findIndex((transaction) => !transaction.isWaiting),
      how
    )
  }

  async #take([what, at = 0, key]: Step): Promise<void> {
    if (what === 'begin') {
      if (this.#open.length < 6) this.#open.push(await OpenTransaction.begin(pool))
      return
    }
    if (what === 'read') {
      if (relays.length === 0) return void (await pool.query(PUBLISH_ALL))
      const before = reading.readings
      return until(() => reading.readings >= before + 2)
    }
    // Uses up a transaction number, as any other write in the database does.
    if (what === 'other writes') return void (await pool.query('select pg_current_xact_id()'))
    if (what === 'move mark') return void (await pool.query(MOVE_MARK))
    const index = at % Math.max(1, this.#open.length)
    const transaction = this.#open[index]
    if (transaction === undefined || transaction.isWaiting) return
    if (what === 'commit' || what === 'rollback' || what === 'prepare') return this.#end(index, what)
    const done =
      what === 'publish'
        ? transaction.publish({ id: `${++this.#events}-${crypto.randomUUID()}`, key })
        : what === 'savepoint'
          ? transaction.savepoint()
          : transaction.endSavepoint(what === 'release')
    // A transaction that waits for another one's key is not waited for here.
    await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 5))])
  }

  async #end(index: number, how: 'commit' | 'rollback' | 'prepare'): Promise<void> {
    const [transaction] = this.#open.splice(index, 1)
    this.#committed.push(...(await transaction!.end(how)))
  }
}

/** Marks all events as published, as a relay does. */
const PUBLISH_ALL =
  'update elysia_microservices.outbox set published_at = clock_timestamp() where published_at is null'

describe('the mark', () => {
  const passedOver = `select position from elysia_microservices.outbox as event
    where published_at is null and position <= (select position from elysia_microservices.mark)`

  it('stays below every event that waits, or that may appear', async () => {
    const check = async () => {
      await pool.query(MOVE_MARK)
      assert.deepEqual((await pool.query(passedOver)).rows, [])
      await pool.query(PUBLISH_ALL)
    }
    await fc.assert(
      fc.asyncProperty(steps(fc.oneof(...own, { weight: 1, arbitrary: step })), async (steps) => {
        await pool.query('truncate elysia_microservices.outbox')
        await new Schedule(check).run(steps)
      }),
      { numRuns: 2 * RUNS, endOnFailure: true }
    )
  })

  it('reaches the last event when no transaction is open', async () => {
    const last = Number(await committed('one'))
    for (let n = 0; n < 3; n++) await pool.query(MOVE_MARK)
    assert.equal(await mark(), last - 1)
    await pool.query(PUBLISH_ALL)
    const open = await OpenTransaction.begin(pool)
    await open.publish({ id: 'two', key: undefined })
    for (let n = 0; n < 3; n++) await pool.query(MOVE_MARK)
    assert.equal(await mark(), last)
    await open.end('rollback')
    await pool.query(PUBLISH_ALL)
    for (let n = 0; n < 3; n++) await pool.query(MOVE_MARK)
    assert.equal(await mark(), last)
    // There is no work left, so the relay must not use up a transaction number.
    const { rowCount } = await pool.query(MOVE_MARK)
    assert.equal(rowCount, 0)
  })

  async function committed(id: string): Promise<string> {
    const text = `select elysia_microservices.publish('${id}', 'told', null) as position`
    return (await pool.query<{ position: string }>(text)).rows[0]!.position
  }

  async function mark(): Promise<number> {
    return Number((await pool.query('select position from elysia_microservices.mark')).rows[0].position)
  }
})

describe('a relay that lives, while transactions are open', () => {
  for (const count of [1, 2])
    it(`publishes what is committed, in order, with ${count} of them`, async () => {
      await startRelays(count)
      await fc.assert(
        fc.asyncProperty(steps(step), async (steps) => {
          engine.stored.length = 0
          await published(await new Schedule().run(steps))
        }),
        { numRuns: RUNS, endOnFailure: true }
      )
      assert.deepEqual(lines.warnings, [])
    })

  it('publishes an event whose transaction was open when a later one of another had been published', async () => {
    await startRelays(1)
    const [first, second] = [await OpenTransaction.begin(pool), await OpenTransaction.begin(pool)]
    await first.publish({ id: 'a1', key: 'a' })
    await second.publish({ id: 'b1', key: 'b' })
    await first.publish({ id: 'a2', key: 'a' })
    await first.end('commit')
    await until(() => engine.stored.length === 2)
    for (let n = 0; n < 3; n++) await pool.query(MOVE_MARK)
    const before = reading.readings
    await until(() => reading.readings > before + 10)
    await second.end('commit')
    await published(['a1', 'a2', 'b1'].map((id) => ({ id, key: id[0] })))
  })

  it('publishes everything under plain load', async () => {
    await startRelays(1)
    const committed: Told[] = []
    const writer = async (writer: number) => {
      for (let turn = 0; turn < 60; turn++) {
        const events = [0, 1].map((n) => ({ id: `${writer}.${turn}.${n}`, key: `${writer}` }))
        const client = await pool.connect()
        await client.query('begin')
        for (const { id, key } of events) await outbox(client).publish('load', turn, { id, key })
        await client.query('commit')
        client.release()
        committed.push(...events)
      }
    }
    let isOver = false
    const moving = (async () => {
      while (!isOver) await pool.query(MOVE_MARK)
    })()
    await Promise.all(Array.from({ length: 12 }, (_, n) => writer(n)))
    isOver = true
    await moving
    await published(committed)
  })
})

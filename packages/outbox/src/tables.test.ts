/** The tables, and the statements on them, over PostgreSQL inside the process. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { inbox } from './inbox.ts'
import { migrate, migrationFile, runMigrations } from './migrate.ts'
import { MIGRATIONS } from './migrations.ts'
import { type OutboxPublishOptions, outbox } from './outbox.ts'
import { outboxRelay } from './relay/relay.ts'
import {
  CHECK_MARK,
  CHECK_PAUSES,
  FAILED,
  FETCH,
  LEAD,
  LEFT,
  MOVE_MARK,
  PUBLISHED,
  SLEEP
} from './relay/statements.ts'
import { inSchema } from './schema.ts'
import { Embedded } from './testing/embedded.ts'

const MINUTE = 60_000
const MARK = 'select position::int, next_position::int, next_transaction from elysia_microservices.mark'
const RELAY = 'select one, asleep from elysia_microservices.relay'

let database: Embedded
/** The rows of the tables when they are made. */
let first: unknown[]
before(async () => {
  database = await Embedded.open()
  await migrate(database.sql)
  first = [...(await database.query(MARK)), ...(await database.query(RELAY))]
})
after(() => database.close())
beforeEach(() =>
  database.run(
    'truncate elysia_microservices.outbox restart identity; truncate elysia_microservices.inbox; update elysia_microservices.relay set asleep = false'
  )
)

/** Stores events, whose positions count from 1. */
async function store(...ids: readonly string[]) {
  for (const id of ids) await put(id)
}

async function put(id: string, options: OutboxPublishOptions = {}, data: unknown = id) {
  return outbox(database.transaction).publish('p', data, { id, ...options })
}

/** Lets an event wait. @param pause milliseconds from now on */
async function wait(id: string, pause: number) {
  await database.query(
    `update elysia_microservices.outbox set retry_at = now() + $1 * interval '1 millisecond' where id = $2`,
    pause,
    id
  )
}

/** The ids of the events that a relay would publish. */
async function fetched(most = 100, bytes = 1_000_000): Promise<string> {
  return (await database.query(FETCH, String(most), String(bytes))).map(({ id }) => id).join()
}

const published = (...positions: readonly number[]) => database.changed(PUBLISHED, `{${positions.join()}}`)
const json = (...rows: readonly object[]) => JSON.stringify(rows)

/** The attempts of an event, why the last one failed, and its state. */
async function state(id: string) {
  const [row] = await database.query(
    `select attempts, reason, retry_at is not null as waits, published_at is not null as published,
      failed_at is not null as failed from elysia_microservices.outbox where id = $1`,
    id
  )
  const { attempts, reason, ...flags } = row as { attempts: number; reason: string | null }
  const is = Object.entries(flags).flatMap(([name, value]) => (value === true ? [name] : []))
  return [attempts, reason, ...is]
}

async function mark(): Promise<number> {
  return Number((await database.query('select position from elysia_microservices.mark'))[0]?.['position'])
}

describe('an outbox', () => {
  it('stores an id once for each pattern', async () => {
    const one = outbox(database.transaction)
    const options = { id: 'a', key: 'k', headers: { x: '1' } }
    assert.deepEqual(await one.publish('p', { n: 1 }, options), { id: 'a', duplicate: false })
    assert.deepEqual(await one.publish('p', { n: 2 }, options), { id: 'a', duplicate: true })
    assert.deepEqual(await one.publish('q', 3, { id: 'a' }), { id: 'a', duplicate: false })
    const rows = await database.query(FETCH, '10', '1000')
    assert.deepEqual(
      rows.map(({ pattern, key, headers, data, attempts }) => [pattern, key, headers, data, attempts]),
      [
        ['p', 'k', '{"x":"1"}', '{"n":1}', '0'],
        ['q', null, null, '3', '0']
      ]
    )
  })

  it('tells a relay of a new event while it sleeps, and only then', async () => {
    let told = 0
    await database.listen('elysia_microservices_outbox', () => told++)
    await store('a')
    assert.equal(told, 0)
    await database.query(SLEEP, 'true')
    assert.deepEqual((await database.query(LEAD))[0]?.['asleep'], true)
    await store('a')
    assert.equal(told, 0, 'It had the event already')
    await store('b')
    assert.equal(told, 1)
    await database.query(SLEEP, 'false')
    assert.deepEqual((await database.query(LEAD))[0], {
      ...(await database.query(LEAD))[0],
      leads: true,
      asleep: false
    })
  })

  it('begins, also when it is emptied, with a mark below all events, and with a relay that must be told of one', async () => {
    const mark = { position: 0, next_position: 0, next_transaction: null }
    assert.deepEqual(first, [mark, { one: true, asleep: true }])
    await store('a')
    await published(1)
    for (let moves = 0; moves < 2; moves++) await database.query(MOVE_MARK)
    await database.run('truncate elysia_microservices.outbox')
    assert.deepEqual(await database.query(MARK), [mark])
    await assert.rejects(database.run('insert into elysia_microservices.relay values (false)'), /one/)
    await assert.rejects(database.run('insert into elysia_microservices.mark values (false)'), /one/)
  })

  it('is created once, however often it is asked for', async () => {
    await migrate(database.sql)
    const names = await database.query('select name from elysia_microservices.migrations order by name')
    assert.deepEqual(names, [{ name: '0001_outbox_and_inbox' }, { name: '0002_mark' }])
  })
})

describe('the tables of a schema', () => {
  it('may be made by the files, and get what comes later', async () => {
    const schema = 'by_files'
    for (const index of MIGRATIONS.keys()) await database.run(inSchema(migrationFile(index), schema))
    await migrate(database.sql, { schema })
    const names = async () =>
      (await database.query(`select name from ${schema}.migrations order by name`)).map(({ name }) => name)
    assert.deepEqual(
      await names(),
      MIGRATIONS.map(({ name }) => name)
    )
    const written = await outbox(database.transaction, { schema }).publish('p', 1, { id: 'a' })
    assert.deepEqual(written, { id: 'a', duplicate: false })
    const further = { name: '0003_later', statements: 'create table "elysia_microservices".later (one int)' }
    for (let time = 0; time < 2; time++)
      await runMigrations(database.sql, { schema }, [...MIGRATIONS, further])
    assert.deepEqual((await names()).at(-1), '0003_later')
    assert.deepEqual(await database.query(`select * from ${schema}.later`), [])
  })
})

describe('the events to be published', () => {
  it('are those that nobody has published or put aside, in order, and not more than wanted', async () => {
    await store('a', 'b', 'c', 'd')
    await published(2)
    await database.query(FAILED, json({ position: 3, reason: 'no', pause: null }))
    assert.deepEqual([await fetched(), await fetched(1)], ['a,d', 'a'])
  })

  it('are so many that their data have room, and one at least', async () => {
    const text = Array.from({ length: 300 }, (_, n) => String.fromCharCode(33 + ((n * n) % 90))).join('')
    for (const id of ['a', 'b', 'c']) await put(id, {}, text)
    const [size] = await database.query(
      'select pg_column_size(data) as size from elysia_microservices.outbox'
    )
    assert.equal(await fetched(9, Number(size?.['size'])), 'a')
    await put('none', {}, undefined)
    assert.deepEqual(
      [await fetched(9, 1), await fetched(9, 400), await fetched(9, 2_000)],
      ['a', 'a,b', 'a,b,c,none']
    )
  })

  it('wait for their pause, and behind an earlier one of their key that waits', async () => {
    await put('a', { key: 'k' })
    await put('b', { key: 'k' })
    await put('c', { key: 'other' })
    await wait('a', MINUTE)
    assert.equal(await fetched(), 'c')
    await wait('a', -1)
    // The later ones of the key follow in a later round, if it is published in this one.
    assert.equal(await fetched(), 'a,c')
    await published(1)
    assert.equal(await fetched(), 'b,c')
  })

  it('of one key that wait go in their order, also if the later one is due first', async () => {
    for (const id of ['a', 'b', 'c']) await put(id, { key: 'k' })
    await put('d', { key: 'other' })
    await wait('a', MINUTE)
    for (const id of ['b', 'd']) await wait(id, -1)
    assert.equal(await fetched(), 'd')
    await wait('a', -1_000)
    assert.equal(await fetched(), 'a,b,d')
  })

  it('that wait longest come first, if there is no room for all', async () => {
    await store('a', 'b')
    await wait('a', -1_000)
    await wait('b', -MINUTE)
    assert.equal(await fetched(1), 'b')
  })

  it('come back from the longest pause that there can be when the clock of PostgreSQL was set back', async () => {
    await store('a', 'b')
    await wait('a', 10 * MINUTE)
    await wait('b', MINUTE / 2)
    assert.equal(await database.changed(CHECK_PAUSES, String(MINUTE)), 1)
    assert.equal(await fetched(), 'a')
  })
})

describe('what has become of an event', () => {
  it('is recorded once: a later record does not count again', async () => {
    await store('a')
    assert.equal(await published(1), 1)
    assert.deepEqual(await state('a'), [1, null, 'published'])
    assert.equal(await published(1), 0)
    await database.query(FAILED, json({ position: 1, reason: 'late', pause: 5 }))
    assert.deepEqual(await state('a'), [1, null, 'published'])
  })

  it('may be a pause, or that it is put aside, each with its reason and its attempt', async () => {
    await store('a', 'b')
    const failures = [
      { position: 1, reason: 'later', pause: MINUTE },
      { position: 2, reason: 'never', pause: null }
    ]
    await database.query(FAILED, json(...failures))
    assert.deepEqual(
      [await state('a'), await state('b')],
      [
        [1, 'later', 'waits'],
        [1, 'never', 'failed']
      ]
    )
    assert.equal(await fetched(), '')
    // An event that was put aside stays so.
    await database.query(FAILED, json({ position: 2, reason: 'later', pause: 0 }))
    assert.deepEqual(await state('b'), [1, 'never', 'failed'])
    await published(1)
    assert.deepEqual(await state('a'), [2, 'later', 'published'])
  })

  it('is open while the broker has not answered: it waits, and that is no attempt', async () => {
    await store('a', 'b')
    await database.query(LEFT, json({ position: 1, pause: MINUTE }))
    assert.deepEqual([await state('a'), await fetched()], [[0, null, 'waits'], 'b'])
    await published(1)
    assert.deepEqual(await state('a'), [1, null, 'published'])
  })

  it('is counted: those that wait, the time of the oldest, and those put aside', async () => {
    const relay = outboxRelay({ sql: database.sql, client: { publish: () => assert.fail() } })
    assert.deepEqual(await relay.stats(), {
      ...{ published: 0, duplicates: 0, retries: 0 },
      ...{ pending: 0, oldest: 0, failed: 0 }
    })
    await store('done', 'paused', 'fresh', 'aside')
    await database.run(
      `update elysia_microservices.outbox set created_at = now() - case id when 'done' then 9 when 'paused' then 5 when 'fresh' then 3 else 7 end * interval '1 hour'`
    )
    await published(1)
    await wait('paused', MINUTE)
    await database.query(FAILED, json({ position: 4, reason: 'no', pause: null }))
    const { pending, oldest, failed } = await relay.stats()
    assert.deepEqual([pending, failed, Math.floor(oldest / 60 / MINUTE)], [2, 1, 5])
  })
})

describe('the mark, below which no event waits for its first attempt', () => {
  it('moves up to the first such event, one move after it was seen', async () => {
    await store('a', 'b', 'c')
    await published(1)
    await database.query(MOVE_MARK)
    assert.equal(await mark(), 0)
    await database.query(MOVE_MARK)
    assert.equal(await mark(), 1)
    await published(2, 3)
    await store('d')
    await database.query(MOVE_MARK)
    // `d` was not there at the move before.
    assert.equal(await mark(), 3)
    assert.equal(await fetched(), 'd')
  })

  it('stays below the first event while there is none, and all are found if there is no mark', async () => {
    for (let moves = 0; moves < 3; moves++) await database.query(MOVE_MARK)
    assert.equal(await mark(), 0)
    await store('a')
    assert.equal(await fetched(), 'a')
    await database.run('delete from elysia_microservices.mark')
    assert.equal(await fetched(), 'a')
    await database.run('insert into elysia_microservices.mark default values')
  })

  it('is passed by events that wait for a further attempt, which are found all the same', async () => {
    await store('a', 'b')
    await published(2)
    await wait('a', -1)
    for (let moves = 0; moves < 2; moves++) await database.query(MOVE_MARK)
    assert.deepEqual([await mark(), await fetched()], [2, 'a'])
  })

  it('does not move in a transaction that has written, nor without a new event', async () => {
    await store('a')
    await published(1)
    await database.query(MOVE_MARK)
    await database.run('begin; update elysia_microservices.relay set asleep = false')
    assert.equal(await database.changed(MOVE_MARK), 0)
    await database.run('commit')
    assert.equal(await database.changed(MOVE_MARK), 1)
    assert.deepEqual([await mark(), await database.changed(MOVE_MARK)], [1, 0])
  })

  it('moves down to an event that somebody has put below it by hand', async () => {
    await store('a', 'b', 'c')
    await published(1, 2, 3)
    for (let moves = 0; moves < 2; moves++) await database.query(MOVE_MARK)
    assert.equal(await database.changed(CHECK_MARK), 0)
    await database.run("update elysia_microservices.outbox set published_at = null where id = 'b'")
    assert.equal(await fetched(), '')
    await database.query(CHECK_MARK)
    assert.deepEqual([await mark(), await fetched()], [1, 'b'])
    await published(2)
    for (let moves = 0; moves < 2; moves++) await database.query(MOVE_MARK)
    await store('d')
    await published(4)
    for (let moves = 0; moves < 2; moves++) await database.query(MOVE_MARK)
    assert.equal(await mark(), 4)
    await database.run("update elysia_microservices.outbox set published_at = null where id = 'd'")
    await database.query(CHECK_MARK)
    assert.deepEqual([await mark(), await fetched()], [3, 'd'])
  })

  it('of another database, from which this one was restored, is begun again', async () => {
    await store('a')
    await published(1)
    await database.run(
      "update elysia_microservices.mark set next_transaction = '999999999', next_position = 50"
    )
    await database.query(MOVE_MARK)
    assert.equal(await mark(), 0)
    await database.query(MOVE_MARK)
    assert.equal(await mark(), 1)
  })
})

describe('events that are put aside', () => {
  const relay = () => outboxRelay({ sql: database.sql, client: { publish: () => assert.fail() } })

  beforeEach(async () => {
    await store('a', 'b', 'c', 'd')
    const aside = [1, 2, 4].map((position) => ({ position, reason: `no ${position}`, pause: null }))
    await database.query(FAILED, json(...aside))
  })

  it('are listed in order, page by page', async () => {
    const { failed } = relay()
    const ids = async (options?: Parameters<typeof failed.list>[0]) =>
      (await failed.list(options)).map(({ id, reason }) => `${id} ${reason}`)
    assert.deepEqual(await ids(), ['a no 1', 'b no 2', 'd no 4'])
    assert.deepEqual(await ids({ limit: 2 }), ['a no 1', 'b no 2'])
    assert.deepEqual(await ids({ after: '2' }), ['d no 4'])
  })

  it('are published again, or deleted, and no other event is', async () => {
    const { failed } = relay()
    assert.equal(await failed.redrive(['2', '3', '9']), 1)
    assert.deepEqual(await state('b'), [1, 'no 2', 'waits'])
    assert.equal(await fetched(), 'b,c')
    assert.equal(await failed.discard(['1', '2', '3']), 1)
    const left = await database.query('select id from elysia_microservices.outbox order by position')
    assert.deepEqual(
      left.map(({ id }) => id),
      ['b', 'c', 'd']
    )
  })
})

describe('old rows', () => {
  it('of an outbox are removed if they are published, and no others', async () => {
    const relay = outboxRelay({ sql: database.sql, client: { publish: () => assert.fail() } })
    await store('old', 'new', 'waits')
    await published(1, 2)
    await database.run(
      "update elysia_microservices.outbox set created_at = now() - interval '1 hour'; update elysia_microservices.outbox set published_at = now() - interval '1 hour' where id = 'old'"
    )
    assert.deepEqual(
      [await relay.prune({ olderThan: MINUTE }), await relay.prune({ olderThan: MINUTE })],
      [1, 0]
    )
    const left = await database.query('select id from elysia_microservices.outbox order by position')
    assert.deepEqual(
      left.map(({ id }) => id),
      ['new', 'waits']
    )
  })

  it('of an inbox are removed, and not those of another one', async () => {
    const [one, other] = [inbox(database.sql, 'one'), inbox(database.sql, 'other')]
    for (const box of [one, other]) for (const id of ['old', 'new']) await box.once(id, () => {})
    await database.run(
      "update elysia_microservices.inbox set handled_at = now() - interval '1 hour' where id = 'old'"
    )
    assert.equal(await one.prune({ olderThan: MINUTE }), 1)
    const ran: string[] = []
    for (const [name, box] of [
      ['one', one],
      ['other', other]
    ] as const)
      for (const id of ['old', 'new']) await box.once(id, () => void ran.push(`${name} ${id}`))
    assert.deepEqual(ran, ['one old'])
  })
})

describe('an inbox', () => {
  it('runs a handler once for an id of its name, and again if its transaction was rolled back', async () => {
    const [one, other] = [inbox(database.sql, 'one'), inbox(database.sql, 'other')]
    const failing = one.once('a', () => Promise.reject(new Error('no')))
    await assert.rejects(failing, /no/)
    const outcomes: boolean[] = []
    for (const box of [one, one, other]) outcomes.push(await box.once('a', () => {}))
    assert.deepEqual(outcomes, [true, false, true])
  })
})

/** Handlers that write in the transaction that acknowledges their event. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TransactionSql } from '@elysia-microservices/outbox/database'
import { DRIVERS, MAIN_DRIVER } from '@elysia-microservices/outbox/testing'
import { Log, until } from '@elysia-microservices/test-support'
import { memory } from '@elysia-microservices/transport'
import type { Delivery, DurableOptions } from '@elysia-microservices/transport/kit'
import { Discard, type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import pg from 'pg'
import { acknowledgeEvent } from './connection/in-transaction.ts'
import type { Tables } from './connection/tables.ts'
import { type PostgresStore, postgres } from './index.ts'
import { databases } from './testing/database.ts'

const { database, cleanUp } = databases()
const calls = { ...memory(), name: 'calls' }
const RETRY = { attempts: 2, minDelay: 1 }

/** A database of a user, with a table of effects, and the store in it. */
async function setting(driver = MAIN_DRIVER, max = 10) {
  const { tables, ...driven } = await database(driver, max)
  await driven.query('create table effect (n text not null)')
  const store = postgres({ sql: driven.sql })
  const { logger, lines } = new Log()
  /** Starts a service, and publishes events that it has handled or buried in the end. */
  const handle = async (
    count: number,
    handler: (message: Message<number>, store: PostgresStore) => unknown,
    durable: DurableOptions = {}
  ) => {
    const service = microservice({ transport: calls, store, name: 'g', logger }).event(
      'e',
      (message) => handler(message as Message<number>, store as PostgresStore),
      {
        durable: { transactional: true, start: 'all', retry: RETRY, ...durable }
      }
    )
    await service.listen()
    cleanUp(() => service.stop())
    const client = connect({ transport: calls, store, logger })
    cleanUp(() => client.close())
    for (let n = 0; n < count; n++) await client.publish('e', n)
    await until('Nothing is left to handle', async () => {
      const rows = await driven.query(
        'select 1 from elysia_microservices.batch union all select 1 from elysia_microservices.pending union all select 1 from elysia_microservices.queued union all select 1 from elysia_microservices.progress where cursor < $1::bigint',
        [String(count)]
      )
      return rows.length === 0
    })
    const letters: string[] = []
    for await (const { reason } of client.group('g').deadLetters.list()) letters.push(reason)
    assert.deepEqual(await driven.query('select * from elysia_microservices.claim'), [])
    return letters
  }
  const effect = (tx: unknown, n: unknown) =>
    driven.query('insert into effect values ($1)', [String(n)], tx as TransactionSql)
  const effects = async () => (await driven.query('select n from effect order by n')).map(({ n }) => n)
  return { ...driven, tables, store, handle, effect, effects, lines }
}

for (const driver of DRIVERS)
  describe(`a transactional handler over PostgreSQL with ${driver}`, () => {
    it('has what it writes and the acknowledgement of its event in one transaction', async () => {
      const { handle, effect, effects, url } = await setting(driver)
      const other = new pg.Client(url)
      await other.connect()
      cleanUp(() => other.end())
      const seen: unknown[] = []
      const letters = await handle(3, ({ data, delivery }, store) =>
        store.transaction(delivery, async (tx) => {
          await effect(tx, data)
          const { rows } = await other.query(
            'select (select count(*) from effect where n = $1)::int as effects, (select count(*) from elysia_microservices.claim where position = $2)::int as claims',
            [String(data), delivery?.position]
          )
          seen.push(rows[0])
        })
      )
      assert.deepEqual([letters, await effects()], [[], ['0', '1', '2']])
      assert.deepEqual(seen, Array(3).fill({ effects: 0, claims: 1 }))
    })

    it('has written nothing when it fails, is retried, and its event may become a dead letter', async () => {
      const { handle, effect, effects } = await setting(driver)
      const letters = await handle(2, ({ data, delivery }, store) =>
        store.transaction(delivery, async (tx) => {
          await effect(tx, `${data} ${delivery?.attempt}`)
          if (data === 0 || delivery?.attempt === 1) throw new Error('no')
        })
      )
      assert.deepEqual([letters, await effects()], [['Error: no'], ['1 2']])
    })

    it('acknowledges in a transaction that its program begins itself, and gets the event again if that is undone', async () => {
      const { begin, handle, effect, effects } = await setting(driver)
      const own = ({ data, delivery }: Message<number>, store: PostgresStore) =>
        begin(async (tx) => {
          await effect(tx, `${data} ${delivery?.attempt}`)
          await store.in(tx).acknowledge(delivery)
          if (delivery?.attempt === 1) throw new Error('undone')
        }).catch(() => {})
      assert.deepEqual([await handle(2, own), await effects()], [[], ['0 2', '1 2']])
    })
  })

describe('a transactional handler over PostgreSQL', () => {
  it('acknowledges, and publishes, in a transaction of Prisma', async () => {
    const { begin, handle, effect, effects, query } = await setting('pg')
    const letters = await handle(1, ({ data, delivery }, store) =>
      begin(async (tx) => {
        // The two methods of Prisma's clients that count here.
        const prisma = {
          $queryRawUnsafe: async (text: string, ...values: unknown[]) =>
            (await (tx as pg.PoolClient).query(text, values)).rows
        }
        await effect(tx, data)
        await store.in(prisma).publish('later', 1)
        await store.in(prisma).acknowledge(delivery)
        const client = { ...prisma, $transaction() {} }
        await assert.rejects(store.in(client).publish('later', 2), /a client of Prisma without a transaction/)
      })
    )
    assert.deepEqual([letters, await effects()], [[], ['0']])
    const published = await query("select 1 from elysia_microservices.event where pattern = 'later'")
    assert.equal(published.length, 1)
  })

  it('must acknowledge, unless it discards its event', async () => {
    const { handle } = await setting()
    const letters = await handle(2, ({ data }) => {
      if (data === 1) throw new Discard('not ours')
    })
    assert.equal(letters.length, 1)
    assert.match(
      letters[0] as string,
      /ended without its transaction: call store\.transaction\(delivery, …\)/
    )
  })

  it('has one transaction, which ends before it even if nobody awaits it, and none later', async () => {
    const { handle, effect, effects, store } = await setting()
    let kept: Delivery | undefined
    const letters = await handle(1, ({ delivery }) => {
      kept = delivery
      void store.transaction(delivery, (tx) => effect(tx, 'a'))
      return assert.rejects(
        store.transaction(delivery, (tx) => effect(tx, 'b')),
        /has a transaction already/
      )
    })
    assert.deepEqual([letters, await effects()], [[], ['a']])
    await assert.rejects(
      store.transaction(kept, () => {}),
      /has ended: await its transaction/
    )
    await assert.rejects(
      store.transaction(undefined, () => {}),
      { name: 'OptionError', path: 'delivery' }
    )
  })

  it('is done when it fails after its commit, and the log says so', async () => {
    const { handle, effect, effects, store, lines } = await setting()
    const letters = await handle(1, async ({ delivery }) => {
      await store.transaction(delivery, (tx) => effect(tx, 'a'))
      throw new Error('too late')
    })
    assert.deepEqual([letters, await effects()], [[], ['a']])
    assert.match(lines.join('\n'), /has failed after its transaction was committed/)
  })

  it('leaves the store two connections of the pool, and its events wait for the others', async () => {
    const { handle, effect, effects, store } = await setting(MAIN_DRIVER, 4)
    let [open, most] = [0, 0]
    await handle(12, ({ data, delivery }) =>
      store.transaction(delivery, async (tx) => {
        most = Math.max(most, ++open)
        await effect(tx, data)
        open--
      })
    )
    assert.deepEqual([(await effects()).length, most <= 2], [12, true])
    const small = await setting(MAIN_DRIVER, 2)
    await assert.rejects(
      small.handle(1, () => {}),
      /give the pool at least 3/
    )
  })
})

describe('an event that is being acknowledged', () => {
  /** A process has two events, and a transaction is open that acknowledges the first. */
  async function acknowledging(isolation = 'read committed') {
    const { url, query, tables } = await setting()
    const { id } = await tables.join('g', 'e', null, false, { kind: 'all' })
    const event = { pattern: 'e', key: undefined, headers: undefined, body: '{}', due: undefined }
    await tables.store(
      ['a', 'b'].map((one) => ({ ...event, id: one })),
      1_000
    )
    const wanted = [{ id, most: 100, back: 100, claims: true as const }]
    const known: string[] = []
    const { taken } = await tables.turn('first', 60_000, [], [], wanted, false)
    const client = new pg.Client(url)
    await client.connect()
    cleanUp(() => client.end())
    const connection = {
      query: async (text: string, values?: readonly (string | null)[]) =>
        (await client.query(text, [...(values ?? [])])).rows
    }
    await client.query(`begin isolation level ${isolation}`)
    const [a] = taken as [(typeof taken)[number]]
    const acknowledge = () => acknowledgeEvent(connection, 'elysia_microservices', a)
    const silence = () =>
      query("update elysia_microservices.process set seen = seen - interval '2 minutes' where id = 'first'")
    const take = async (owner: string, settled: Parameters<Tables['turn']>[2] = []) => {
      const turn = await tables.turn(owner, 60_000, settled, known, wanted, false)
      known.push(...turn.taken.map((row) => row.batch))
      return turn.taken.map((row) => `${row.id} ${row.attempt}`)
    }
    return { client, a, acknowledge, silence, take }
  }

  it('is not given to another process while nobody knows, and never if the transaction is committed', async () => {
    for (const [end, comes] of [
      ['commit', []],
      ['rollback', ['a 2']]
    ] as const) {
      const { client, acknowledge, silence, take } = await acknowledging()
      assert.equal(await acknowledge(), true)
      await silence()
      assert.deepEqual(await take('second'), ['b 2'])
      await client.query(end)
      assert.deepEqual(await take('second'), comes)
    }
  })

  it('cannot be acknowledged any more when another process has it, whatever its transaction has seen', async () => {
    for (const isolation of ['read committed', 'serializable']) {
      const { client, acknowledge, silence, take } = await acknowledging(isolation)
      await client.query('select * from elysia_microservices.batch')
      await silence()
      assert.deepEqual(await take('second'), ['a 2', 'b 2'])
      const acknowledged = await acknowledge().catch(() => false)
      assert.equal(acknowledged, false)
      await assert.rejects(client.query('select 1'), /transaction is aborted/)
    }
  })

  it('is done although its process says that it failed, because the answer to the commit was lost', async () => {
    const { client, a, acknowledge, take } = await acknowledging()
    await acknowledge()
    const { batch, position, letter } = a
    const back = { position, letter, attempt: 1, lock: null, delay: 0 }
    const settled = [{ batch, left: [], back: [back], dead: [], discarded: [], over: [] }]
    // The other event is said to be done, and is not acknowledged.
    assert.deepEqual(await take('first', settled), ['b 2'])
    await client.query('commit')
    assert.deepEqual(await take('first'), [])
  })
})

/** Publishing in a transaction of the caller, over a client of `pg` that notes its statements. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TransactionSql } from '@elysia-microservices/outbox/database'
import { postgres } from './postgres.ts'

/** A transaction of the caller whose statements are answered with these rows. */
function transaction(rows: readonly Readonly<Record<string, unknown>>[]) {
  const asked: (readonly unknown[])[] = []
  const client = {
    async query(_text: string, values: readonly unknown[] = []) {
      asked.push(values)
      return { rows }
    }
  }
  return { asked, sql: client as unknown as TransactionSql }
}

const store = postgres({ sql: (() => {}) as never, duplicateWindow: 5_000 })

describe('publishing in a transaction of the caller', () => {
  it('says the position, and whether the id is stored already', async () => {
    for (const [stored, position, duplicate] of [
      ['17', '17', false],
      ['17=', '17', true]
    ] as const) {
      const { sql } = transaction([{ stored }])
      assert.deepEqual(await store.in(sql).publish('p', 1, { id: 'a' }), { id: 'a', position, duplicate })
    }
  })

  it('stores the event as a client does, under an id of its own if it has none', async () => {
    const { sql, asked } = transaction([{ stored: '1' }])
    await store.in(sql).publish('p', { n: 1 }, { id: 'a', key: 'k', headers: { x: '1' } })
    await store.in(sql).publish('p', undefined)
    const [full, bare] = asked
    assert.deepEqual(full, ['p', 'a', 'k', '{"x":"1"}', '{"data":{"n":1}}', '5000'])
    assert.match(String(bare?.[1]), /^[\da-f-]{36}$/)
    assert.deepEqual([bare?.[0], bare?.slice(2)], ['p', [null, null, '{}', '5000']])
  })

  it('puts an event off until its time, by the clock of the database', async () => {
    const row = { place: null, is_duplicate: false, is_held: false }
    for (const [given, told] of [
      [{ at: new Date(4e12) }, { due: 4e12 }],
      [{ delay: 500 }, { delay: 500 }]
    ] as const) {
      const { sql, asked } = transaction([row])
      const published = await store.in(sql).publish('p', 1, { id: 'a', ...given })
      assert.deepEqual(published, { id: 'a', position: undefined, duplicate: false })
      const [event] = JSON.parse(String(asked[0]?.[0]))
      assert.deepEqual([event.due, event.delay], [Object(told).due, Object(told).delay])
    }
  })

  it('waits for others that publish the key, so that positions are in the order of commits', async () => {
    const { sql, asked } = transaction([{ place: '1', is_duplicate: false, is_held: false }])
    await store.in(sql).publish('p', 1, { key: 'k', delay: 5 })
    assert.equal(asked[0]?.[2], 'true')
  })

  it('is refused while the log is full, and says how much it keeps', async () => {
    const { sql, asked } = transaction([{ place: 'full 17', is_duplicate: false, is_held: false }])
    const limited = postgres({ sql: (() => {}) as never, maxBytes: 20 })
    await assert.rejects(limited.in(sql).publish('p', 1), {
      name: 'NotStoredError',
      message: /keeps 17 bytes of events, and may keep 20/
    })
    assert.equal(asked[0]?.[3], '20')
  })

  it('has no time if its delay is none', async () => {
    const { sql, asked } = transaction([{ stored: '1' }])
    await store.in(sql).publish('p', 1, { id: 'a', delay: 0 })
    assert.deepEqual(asked, [['p', 'a', null, null, '{"data":1}', '5000']])
  })

  it('refuses what PostgreSQL cannot keep, and what is no transaction', async () => {
    const { sql, asked } = transaction([])
    await assert.rejects(store.in(sql).publish('p\0', 1), { name: 'OptionError' })
    assert.deepEqual(asked, [])
    const pool = { query() {}, connect() {}, totalCount: 0 } as unknown as TransactionSql
    await assert.rejects(store.in(pool).publish('p', 1), /sql is a pool/)
  })
})

describe('the patterns of events in PostgreSQL', () => {
  it('have at most 1,024 bytes, and no control characters', async () => {
    const context = { logger: { error() {}, warn() {} }, timeout: 1_000, dispatcher: undefined }
    const client = store.client(context)
    const refusal = (pattern: string) =>
      client.publish(pattern, 1).then(
        () => assert.fail('There is no database'),
        ({ message }: Error) => /cannot carry the pattern .*: (.*)$/.exec(message)?.[1]
      )
    assert.equal(await refusal('é'.repeat(512)), undefined)
    assert.equal(await refusal(`${'é'.repeat(512)}x`), 'it has more than 1,024 bytes')
    assert.equal(await refusal('a\u0007'), 'it has a control character or half of a character')
    await client.close()
  })
})

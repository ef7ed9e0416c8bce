/** The statements for a user and their answers, over a pool that answers as the test says. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inbox } from './inbox.ts'
import { outbox } from './outbox.ts'
import { outboxRelay } from './relay/relay.ts'
import { FakePool } from './testing/fake-pool.ts'

const client = { publish: async () => ({ id: 'a', position: '1', duplicate: false }) }

describe('an outbox', () => {
  it('stores an event once, under its id, in the transaction', async () => {
    const pool: FakePool = new FakePool(() => [{ position: pool.asked.length === 1 ? '7' : null }])
    const one = outbox(pool.transaction, { schema: 'shop' })
    const given = { id: 'a', key: 'k', headers: { x: '1' } }
    assert.deepEqual(await one.publish('p', { n: 1 }, given), { id: 'a', duplicate: false })
    assert.deepEqual(await one.publish('p', undefined, { id: 'a' }), { id: 'a', duplicate: true })
    assert.match(pool.asked[0]?.text ?? '', /"shop"\.publish\(/)
    assert.deepEqual(pool.valuesOf('publish'), [
      ['a', 'p', '{"n":1}', 'k', '{"x":"1"}'],
      ['a', 'p', null, null, null]
    ])
    assert.match((await one.publish('p', 1)).id, /^[\da-f-]{36}$/)
  })

  it('takes what has just room', async () => {
    const pool = new FakePool(() => [{ position: '1' }])
    const one = outbox(pool.transaction)
    const id = 'a'.repeat(1_024)
    assert.deepEqual(await one.publish('p', 1, { id, key: id }), { id, duplicate: false })
    await one.publish('p', 1, { headers: { x: 'a'.repeat(32_767), y: '' } }).then(
      () => assert.fail('There are 32,769 bytes'),
      (error: Error) => assert.match(error.message, /have 32769 bytes, and may have 32768/)
    )
    await one.publish('p', 1, { headers: { x: 'a\tb'.padEnd(32_767, 'a') } })
    let deep: unknown = 1
    for (let levels = 0; levels < 1_001; levels++) deep = [deep]
    await assert.rejects(one.publish('p', deep), { name: 'OptionError', message: /more than 1000 levels/ })
    await one.publish('p', (deep as unknown[])[0], { headers: {} })
    assert.deepEqual(pool.valuesOf('publish').at(-1)?.slice(3), [null, null])
  })

  it('refuses what PostgreSQL or a broker cannot keep, before PostgreSQL sees it', async () => {
    const pool = new FakePool()
    const one = outbox(pool.transaction)
    for (const [pattern, data, given, path] of [
      ['p\0', 1, {}, 'pattern'],
      ['p', 1, { id: '' }, 'options.id'],
      ['p', 1, { id: 'a'.repeat(1_025) }, 'options.id'],
      ['p', 1, { id: 'a\nb' }, 'options.id'],
      ['p', 1, { key: 'a\ud800' }, 'options.key'],
      ['p', 1, { headers: { x: 5 } }, 'options.headers["x"]'],
      ['p', 1, { headers: { x: 'a\nb' } }, 'options.headers["x"]'],
      ['p', 1, { headers: { 'elysia-x': '1' } }, 'options.headers["elysia-x"]'],
      ['p', 1, { headers: { x: 'a'.repeat(32_768) } }, 'options.headers'],
      ['p', 1, { headers: [] }, 'options.headers'],
      ['p', 1, { at: 5 }, 'options']
    ] as const)
      await assert.rejects(one.publish(pattern, data, given as object), (error: { path?: string }) => {
        assert.ok(error.path?.startsWith(path), `${error.path} for ${path}`)
        return true
      })
    assert.deepEqual(pool.asked, [])
  })
})

describe('an inbox', () => {
  it('runs a handler for an id that is new, in the transaction that remembers the id', async () => {
    const pool = new FakePool(({ text }) => (text.includes('insert') ? [{}] : []))
    const ran: unknown[] = []
    assert.equal(
      await inbox(pool.sql, 'billing').once('a', (tx) => ran.push(typeof (tx as { query?: unknown }).query)),
      true
    )
    assert.deepEqual(ran, ['function'])
    assert.deepEqual(
      pool.asked.map(({ text }) => text.split(' ', 1)[0]),
      ['begin', 'insert', 'select', 'commit']
    )
    assert.deepEqual(pool.valuesOf('insert'), [['billing', 'a']])
  })

  it('runs none for an id that is known', async () => {
    const pool = new FakePool()
    const once = inbox(pool.sql, 'billing').once('a', () => assert.fail('It runs'))
    assert.equal(await once, false)
  })

  it('remembers nothing of a handler that fails, or that has hidden the failure of a statement', async () => {
    for (const failing of ['handler', 'select 1']) {
      const pool = new FakePool(({ text }) => {
        if (text === failing) throw new Error('no')
        return text.includes('insert') ? [{}] : []
      })
      const once = inbox(pool.sql, 'billing').once('a', () => {
        if (failing === 'handler') throw new Error('no')
      })
      await assert.rejects(once, /no/)
      assert.equal(pool.asked.at(-1)?.text, 'rollback')
    }
  })

  it('prunes until there is nothing more, and only its own ids', async () => {
    const pool: FakePool = new FakePool(() => Array(pool.asked.length < 3 ? 5_000 : 7).fill({}))
    assert.equal(await inbox(pool.sql, 'billing').prune({ olderThan: 9 }), 10_007)
    assert.deepEqual(pool.valuesOf('delete'), Array(3).fill(['9', '5000', 'billing']))
    await assert.rejects(inbox(pool.sql, 'billing').prune({ olderThan: -1 }), { name: 'OptionError' })
  })
})

describe('what is put aside', () => {
  it('is listed from a position on, and shown as it was published', async () => {
    const row = { position: '7', id: 'a', pattern: 'p', reason: 'no', attempts: '3', failed_at: '5' }
    const pool = new FakePool(() => [
      { ...row, key: 'k', headers: '{"x":"1"}', data: '{"n":1}' },
      { ...row, key: null, headers: null, data: null }
    ])
    const { failed } = outboxRelay({ sql: pool.sql, client })
    const common = { position: '7', id: 'a', pattern: 'p', reason: 'no', attempts: 3, failedAt: new Date(5) }
    assert.deepEqual(await failed.list({ after: '6', limit: 2 }), [
      { ...common, key: 'k', headers: { x: '1' }, data: { n: 1 } },
      { ...common, key: undefined, headers: {}, data: undefined }
    ])
    await failed.list()
    assert.deepEqual(
      pool.asked.map(({ values }) => values),
      [
        ['6', '2'],
        ['0', '100']
      ]
    )
  })

  it('is sent again or deleted by position, and by nothing else', async () => {
    const pool = new FakePool(() => [{}])
    const { failed } = outboxRelay({ sql: pool.sql, client })
    assert.equal(await failed.redrive(['7', '8']), 1)
    assert.equal(await failed.discard(['9']), 1)
    assert.deepEqual(pool.valuesOf('update'), [['{7,8}']])
    assert.deepEqual(pool.valuesOf('delete'), [['{9}']])
    for (const position of ['', '-1', '1}', '1; drop table x', 5])
      await assert.rejects(failed.discard(['1', position as string]), { path: 'positions[1]' })
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ClientStoreInit } from '@elysia-microservices/engine'
import type { Row } from '@elysia-microservices/outbox/database'
import type { NewEvent } from '../connection/in-transaction.ts'
import type { PostgresConnection } from '../connection/postgres-connection.ts'
import type { Tables } from '../connection/tables.ts'
import { PostgresClientStore } from './client-store.ts'

/** A client over tables with these methods. */
function clientOver(tables: { readonly [Name in keyof Tables]?: unknown }) {
  let watched = 0
  const reach = { watch: () => void watched++, failed() {} }
  const connection = { isConnected: true, tables: { schema: 'shop', ...tables }, reach }
  const init = {
    engine: { name: 'postgres', title: 'PostgreSQL', where: 'the schema shop', whyNot: () => undefined },
    context: { logger: { warn() {}, error() {} }, timeout: 10_000, dispatcher: undefined },
    connect: async () => connection,
    halted: () => undefined
  }
  const store = new PostgresClientStore(init as unknown as ClientStoreInit<PostgresConnection>, {
    duplicateWindow: 1_000,
    maxBytes: 0
  })
  store.attach(connection as unknown as PostgresConnection)
  return { store, watched: () => watched }
}

const event = { pattern: 'p', id: 'a', key: null, headers: null, body: '{"data":1}', published: 5 }

describe('a client over PostgreSQL', () => {
  it('publishes with id, key, headers and time, and is told what is stored already', async () => {
    const stored: NewEvent[] = []
    const { store, watched } = clientOver({
      store: async (events: readonly NewEvent[]) => {
        stored.push(...events)
        return events.map(({ id }) => ({ position: '7', isDuplicate: id === 'known', isHeld: false }))
      }
    })
    assert.equal(watched(), 1)
    const published = await store.publish('p', 1, { id: 'a', key: 'k', headers: { x: '1' } })
    assert.deepEqual(published, { id: 'a', position: '7', duplicate: false })
    assert.equal((await store.publish('p', 1, { id: 'known' })).duplicate, true)
    await store.publish('p', 1, { id: 'late', at: new Date(4e12) })
    const [first, , late] = stored
    const { pattern, id, key, headers, due } = first as NewEvent
    assert.deepEqual([pattern, id, key, headers, due], ['p', 'a', 'k', '{"x":"1"}', undefined])
    assert.deepEqual(JSON.parse(first?.body ?? ''), { pattern: 'p', data: 1 })
    assert.equal(late?.due, 4e12)
    for (const given of [{ id: 'a\0' }, { key: 'k\0' }])
      await assert.rejects(store.publish('p', 1, given), { name: 'OptionError' })
    store.close(new Error('over'), new Error('over'))
  })

  it('lists a backlog with what runs, what pauses and what waits, and without what was deleted', async () => {
    const rows: Row[] = [
      { ...event, position: '1', letter: '0', attempt: '1', due: null, now: '1000', found: 4 },
      { ...event, position: '2', letter: '0', attempt: '1', due: '1500', now: '1000', found: 4 },
      { ...event, position: '3', letter: '0', attempt: '0', due: '900', now: '1000' },
      { ...event, position: '4', letter: '0', attempt: '0', due: '-Infinity', now: '1000', body: null }
    ]
    const { store } = clientOver({
      groupIds: async (name: string) => (name === 'g' ? [3, 4] : []),
      backlog: async (ids: readonly number[], behind: unknown) => {
        assert.deepEqual([ids, behind], [[3, 4], behind && rows[1]])
        // A page may be short because its events are large.
        return behind === undefined ? rows.slice(0, 2) : rows.slice(2)
      }
    })
    const listed: unknown[] = []
    for await (const { position, state, attempts, dueAt } of store.backlog('g'))
      listed.push([position, state, attempts, dueAt?.getTime()])
    assert.deepEqual(listed, [
      ['1', 'running', 1, undefined],
      ['2', 'pausing', 1, 1500],
      ['3', 'waiting', 0, undefined]
    ])
    const none = store.backlog('other')[Symbol.asyncIterator]()
    await assert.rejects(none.next(), /no group 'other' in the schema shop/)
  })

  it('knows groups by their name, and says so of a name that none has', async () => {
    const paused: unknown[][] = []
    const { store } = clientOver({
      groupIds: async (name: string) => (name === 'g' ? [3] : []),
      lag: async (name: string) => (name === 'g' ? 4 : undefined),
      pause: async (...given: unknown[]) => {
        paused.push(given)
        return given[0] === 'g'
      }
    })
    assert.deepEqual([await store.hasGroup('g'), await store.hasGroup('other')], [true, false])
    assert.equal(await store.lag('g'), 4)
    await store.pauseGroup('g', true)
    await store.pauseGroup('g', false)
    assert.deepEqual(paused, [
      ['g', true],
      ['g', false]
    ])
    for (const asked of [store.lag('other'), store.pauseGroup('other', true)])
      await assert.rejects(asked, { name: 'OptionError', message: /no group 'other' in the schema shop/ })
  })
})

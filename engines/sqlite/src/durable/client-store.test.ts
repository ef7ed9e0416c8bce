/** Publishing into a file, and managing its groups. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { collected } from '@elysia-microservices/test-support'
import { durableSettings, ManualClock } from '@elysia-microservices/transport/kit'
import { Files } from '../connection/files.ts'
import { runtimeDriver } from '../connection/runtime.ts'
import { sqliteOptions } from '../options/options.ts'
import { SqliteClientStore } from './client-store.ts'

async function open() {
  const clock = new ManualClock()
  const files = new Files(runtimeDriver, sqliteOptions(':memory:', { clock, duplicateWindow: 1_000 }))
  const connection = await files.use()
  const engine = { name: 'sqlite', title: 'SQLite', where: 'here', whyNot: () => undefined }
  const store = new SqliteClientStore(
    {
      engine: { ...engine, open: () => files.use() },
      context: { logger: { error() {}, warn() {} }, timeout: 1_000, dispatcher: undefined },
      connect: () => files.use(),
      halted: () => undefined
    },
    1_000,
    clock
  )
  store.attach(connection)
  const publish = async (...given: Parameters<SqliteClientStore['publish']>) => {
    const published = store.publish(...given)
    // It may be refused before the turn of the file.
    published.catch(() => {})
    await clock.advance(0)
    return published
  }
  return { clock, store, publish, file: connection.file }
}

describe('the client of a file', () => {
  it('stores an event with its key, its headers, and its size in bytes', async () => {
    const { publish, file } = await open()
    assert.deepEqual(await publish('p', 'é', { id: 'a', key: 'k', headers: { x: 'ü' } }), {
      ...{ id: 'a', position: '1', duplicate: false }
    })
    await publish('p', undefined)
    const [whole, bare] = file.query('select id, key, headers, body, size from event order by position')
    const [body, headers] = ['{"pattern":"p","data":"é"}', '{"x":"ü"}']
    const size = Buffer.byteLength(body + headers)
    assert.deepEqual(whole, { id: 'a', key: 'k', headers, body, size })
    assert.deepEqual(
      { ...bare, id: '' },
      { id: '', key: null, headers: null, body: '{"pattern":"p"}', size: 15 }
    )
  })

  it('says that an id is known, also of an event that waits for its time', async () => {
    const { publish, clock, store } = await open()
    await publish('p', 1, { id: 'a' })
    assert.deepEqual(await publish('p', 1, { id: 'a' }), { id: 'a', position: '1', duplicate: true })
    assert.deepEqual(await publish('p', 1, { id: 'b', delay: 500 }), {
      ...{ id: 'b', position: undefined, duplicate: false }
    })
    assert.equal((await publish('p', 1, { id: 'b' })).duplicate, true)
    assert.deepEqual(
      (await collected(store.future.list())).map(({ id, at }) => [id, at.getTime()]),
      [['b', 500]]
    )
    await clock.advance(500)
    assert.deepEqual(await collected(store.future.list()), [])
  })

  it('refuses an event that is too large for one turn', async () => {
    const { publish } = await open()
    await assert.rejects(publish('p', 'x'.repeat(8 * 1024 * 1024)), { name: 'PayloadTooLargeError' })
  })

  it('counts what all groups of a name have not handled, lists as many of it as are asked for, and pauses them', async () => {
    const { publish, store, file } = await open()
    const groups = ['p', 'q'].map((pattern) => file.group('g', pattern, durableSettings({})))
    for (const pattern of ['q', 'p', 'q']) await publish(pattern, 1)
    assert.equal(await store.lag('g'), 3)
    const listed = async (limit?: number) =>
      (await collected(store.backlog('g', { limit }))).map(({ position, pattern }) => position + pattern)
    assert.deepEqual(await listed(), ['1q', '2p', '3q'])
    assert.deepEqual([await listed(2), await listed(0)], [['1q', '2p'], []])
    await store.pauseGroup('g', true)
    assert.deepEqual(
      groups.map(({ isPaused }) => isPaused),
      [true, true]
    )
    assert.equal(await store.hasGroup('g'), true)
  })

  it('says that there is no group of a name', async () => {
    const { store } = await open()
    const unknown = {
      name: 'OptionError',
      message: /There is no group 'g' in ':memory:': a group is created/
    }
    assert.equal(await store.hasGroup('g'), false)
    await assert.rejects(store.lag('g'), unknown)
    await assert.rejects(store.pauseGroup('g', true), unknown)
    await assert.rejects(collected(store.backlog('g')), unknown)
  })
})

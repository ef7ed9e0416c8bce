/** Handlers that write in the transaction that acknowledges their event. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { Log, until } from '@elysia-microservices/test-support'
import { memory } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { type SqliteStore, sqlite } from './sqlite.ts'

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

/** Publishes numbers, and waits until they are handled or dead. @returns the reasons of dead letters, and the effects */
async function handled(
  count: number,
  handler: (message: Message<number>, store: SqliteStore) => unknown
): Promise<{ readonly reasons: string[]; readonly effects: unknown[]; readonly lines: readonly string[] }> {
  const store = sqlite(':memory:')
  const { logger, lines } = new Log()
  const place = { transport: { ...memory(), name: 'calls' }, store, logger }
  await store.query('create table effect (n text)')
  const service = microservice({ ...place, name: 'g' }).event(
    'e',
    (message) => handler(message as never, store),
    {
      durable: { transactional: true, retry: { attempts: 2, minDelay: 1 } }
    }
  )
  await service.listen()
  const client = connect(place)
  cleanUps.push(
    () => service.stop(),
    () => client.close()
  )
  for (let n = 0; n < count; n++) await client.publish('e', n)
  await until('All are handled', () =>
    service.stats().every(({ durable = [] }) => durable.every(({ lag }) => lag === 0))
  )
  const reasons: string[] = []
  for await (const { reason } of client.group('g').deadLetters.list()) reasons.push(reason)
  const effects = (await store.query('select n from effect order by n')).map(({ n }) => n)
  assert.deepEqual(await store.query('select * from pending'), [])
  return { reasons, effects, lines }
}

describe('a transactional handler over SQLite', () => {
  it('writes once for each event, and nothing when it fails', async () => {
    const { reasons, effects } = await handled(3, ({ data, delivery }, store) =>
      store.transaction(delivery, (query) => {
        query('insert into effect values (?)', `${data} ${delivery?.attempt}`)
        if (data === 0 || (data === 1 && delivery?.attempt === 1)) throw new Error('no')
        return query('select 1')
      })
    )
    assert.deepEqual([reasons, effects], [['Error: no'], ['1 2', '2 1']])
  })

  it('must have a transaction, one that is synchronous and is ended by the store', async () => {
    const { reasons, effects } = await handled(4, ({ data, delivery }, store) => {
      if (data === 0) return
      return store.transaction(delivery, (query) => {
        query('insert into effect values (?)', 'undone')
        if (data === 1) return Promise.resolve()
        if (data === 2) query('commit')
        return query('nonsense')
      })
    })
    assert.deepEqual(effects, [])
    const [none, late, ended, nonsense] = reasons as [string, string, string, string]
    assert.match(none, /ended without its transaction/)
    assert.match(late, /must be synchronous/)
    assert.match(ended, /'commit' does not belong/)
    assert.match(nonsense, /syntax error/)
  })

  it('is done when it fails after its transaction, and has no second one', async () => {
    const { reasons, effects, lines } = await handled(1, async ({ delivery }, store) => {
      await store.transaction(delivery, (query) => query('insert into effect values (1)'))
      await store.transaction(delivery, () => {})
    })
    assert.deepEqual([reasons, effects], [[], ['1']])
    assert.match(lines.join('\n'), /failed after its transaction was committed/)
  })

  it('needs no transaction for an event that another service has kept for its own handler', async () => {
    const store = sqlite(':memory:')
    const { logger, lines } = new Log()
    const place = { transport: { ...memory(), name: 'calls' }, store, logger }
    const told: string[] = []
    for (const name of ['g', 'h']) {
      const service = microservice({ ...place, name }).event(
        'e',
        ({ delivery }) => store.transaction(delivery, () => void told.push(name)),
        { durable: { transactional: true, retry: { attempts: 1 } } }
      )
      await service.listen()
      cleanUps.push(() => service.stop())
    }
    const client = connect(place)
    cleanUps.push(() => client.close())
    await client.emit('e', 1)
    await until('Both have it', () => told.length === 2)
    for (const name of ['g', 'h'])
      await until('Nothing waits', async () => (await client.group(name).lag()) === 0)
    assert.deepEqual([told.sort(), lines], [['g', 'h'], []])
  })

  it('writes nothing once its event was given back, and that is no failure of it', async () => {
    const store = sqlite(':memory:')
    const { logger, lines } = new Log()
    const place = { transport: { ...memory(), name: 'calls' }, store, logger }
    await store.query('create table effect (n text)')
    let go = () => {}
    const gone = new Promise<void>((resolve) => {
      go = resolve
    })
    const told: unknown[] = []
    const handler = async ({ delivery }: Message) => {
      told.push('begun')
      await gone
      const insert = store.transaction(delivery, (query) => query('insert into effect values (1)'))
      told.push(await insert.then(() => 'written', String))
      throw new Error('no')
    }
    const durable = { transactional: true }
    const service = microservice({ ...place, name: 'g', drain: 1 }).event('e', handler, { durable })
    await service.listen()
    const client = connect(place)
    cleanUps.push(() => client.close())
    await client.publish('e', 1)
    await until('It runs', () => told.length === 1)
    await service.stop()
    go()
    await until('It has ended', () => told.length === 2)
    await new Promise(setImmediate)
    assert.deepEqual(told, ['begun', 'Error: The event was given back, because its service has stopped'])
    assert.deepEqual(await store.query('select n from effect'), [])
    assert.deepEqual(await store.query('select attempt, due from pending'), [{ attempt: 1, due: 0 }])
    assert.deepEqual(
      lines.filter((line) => line.includes('has failed')),
      []
    )
  })
})

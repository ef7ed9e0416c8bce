import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, afterEach, describe, it } from 'node:test'
import { Log, until } from '@elysia-microservices/test-support'
import { ManualClock, memory } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { type SqliteStore, sqlite } from './index.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'sqlite-'))
after(() => rmSync(folder, { recursive: true }))

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

const { logger, lines } = new Log()
const calls = { ...memory(), name: 'calls' }

function clientOf(store: SqliteStore) {
  const client = connect({ transport: calls, store, logger })
  cleanUps.push(() => client.close())
  return client
}

async function serve(store: SqliteStore, handler: (message: Message) => unknown, durable = {}) {
  const service = microservice({ transport: calls, store, name: 'test', logger }).event('e', handler, {
    durable
  })
  await service.listen()
  cleanUps.push(() => service.stop())
  return service
}

describe('the stores of one process', () => {
  it('share a file, whatever its name is, and close it when nobody uses it', async () => {
    const file = path.join(folder, 'shared.db')
    const seen: unknown[] = []
    const service = await serve(sqlite(file), ({ data }) => void seen.push(data))
    const client = clientOf(sqlite(path.relative(process.cwd(), file)))
    await client.publish('e', 1)
    await until('It has come', () => seen.length === 1)
    await service.stop()
    assert.deepEqual((await client.publish('e', 2)).position, '2')
    await client.close()
    // Other options would be refused while it is open.
    await serve(sqlite(file, { maxAge: false }), ({ data }) => void seen.push(data))
    await until('The other has come', () => seen.length === 2)
  })

  it('refuse a file that is open with other options', async () => {
    const file = path.join(folder, 'options.db')
    await serve(sqlite(file), () => {})
    await assert.rejects(clientOf(sqlite(file, { maxAge: false })).publish('e', 1), {
      name: 'OptionError',
      message:
        /has '.*options\.db' open with .*: make the store once, and give it to all services and clients/
    })
  })

  it('have each a memory of their own, as old as the value', async () => {
    const store = sqlite(':memory:')
    const client = clientOf(store)
    await client.publish('e', 1)
    await client.close()
    assert.equal((await clientOf(store).publish('e', 2)).position, '2')
    assert.equal((await clientOf(sqlite(':memory:')).publish('e', 2)).position, '1')
  })
})

describe('a client over a file', () => {
  it('does not store what its caller has given up before', async () => {
    const client = clientOf(sqlite(':memory:'))
    await client.publish('e', 1)
    const controller = new AbortController()
    const given = client.publish('e', 2, { signal: controller.signal })
    // It waits for the turn in which the file is written.
    for (let n = 0; n < 20; n++) await Promise.resolve()
    controller.abort()
    await assert.rejects(given, { name: 'CanceledError' })
    assert.equal((await client.publish('e', 3)).position, '2')
  })

  it('lists as many events of a backlog as are asked for, without those that are gone meanwhile', async () => {
    const store = sqlite(':memory:')
    await (await serve(store, () => {})).stop()
    const client = clientOf(store)
    for (const id of ['a', 'b', 'c', 'd']) await client.publish('e', 1, { id })
    const ids: string[] = []
    for await (const { id } of client.group('test').backlog({ limit: 2 })) {
      ids.push(id)
      await store.query("delete from event where id = 'b'")
    }
    assert.deepEqual(ids, ['a', 'c'])
  })
})

describe('a durable handler over a file', () => {
  it('refuses workers, which are processes of their own', async () => {
    const service = microservice({
      transport: calls,
      store: sqlite(':memory:'),
      workers: 2,
      logger,
      name: 'test'
    })
    await assert.rejects(service.event('e', () => {}, { durable: true }).listen(), {
      name: 'OptionError',
      message: /sqlite\(\) has one process, and options\.workers starts several: leave out options\.workers/
    })
  })

  it('runs again after its pauses by the clock, and a dead letter says what it was', async () => {
    const clock = new ManualClock(1_000)
    const store = sqlite(':memory:', { clock })
    const attempts: unknown[] = []
    await serve(
      store,
      ({ delivery }) => {
        attempts.push([delivery?.attempt, delivery?.redelivered, clock.now()])
        throw new Error('no')
      },
      { retry: { attempts: 2, minDelay: 500 } }
    )
    const client = clientOf(store)
    await client.publish('e', { n: 1 }, { id: 'a' })
    await clock.advance(499)
    assert.deepEqual(attempts, [[1, false, 1_000]])
    await clock.advance(1)
    const all = []
    for await (const letter of client.group('test').deadLetters.list()) all.push(letter)
    assert.deepEqual(attempts.at(-1), [2, true, 1_500])
    const [{ reason, diedAt, data }] = all as [(typeof all)[0]]
    assert.deepEqual([all.length, reason, diedAt.getTime(), data], [1, 'Error: no', 1_500, { n: 1 }])
  })

  it('has an event that would be too old for its next run as a dead letter', async () => {
    const clock = new ManualClock(1_000)
    const store = sqlite(':memory:', { clock, maxAge: 2_000, duplicateWindow: 1_000 })
    const service = await serve(
      store,
      () => {
        throw new Error('no')
      },
      { retry: { minDelay: 3_000 } }
    )
    const client = clientOf(store)
    await client.publish('e', 1)
    await clock.advance(0)
    const letter = await client.group('test').deadLetters.get('1')
    assert.match(
      letter?.reason ?? '',
      /no; it was to run again in 3000 ms, and its store keeps it no longer \(maxAge: 2000 ms\)/
    )
    assert.equal(service.stats().find(({ durable }) => durable)?.durable?.[0]?.lag, 0)
  })

  it('retries a dead letter that was given back, however old it is', async () => {
    const clock = new ManualClock(1_000)
    const store = sqlite(':memory:', { clock, maxAge: 2_000, duplicateWindow: 1_000 })
    const attempts: unknown[] = []
    const handler = ({ delivery }: Message) => {
      attempts.push(delivery?.attempt)
      throw new Error('no')
    }
    const first = await serve(store, handler, { retry: { attempts: 1 } })
    const client = clientOf(store)
    await client.publish('e', 1)
    await clock.advance(0)
    await first.stop()
    await serve(store, handler, { retry: { attempts: 2, minDelay: 500 } })
    await clock.advance(10_000)
    assert.equal(await client.group('test').deadLetters.redrive('1'), true)
    await clock.advance(500)
    assert.deepEqual(attempts, [1, 1, 2])
  })

  it('of a new group says once which events it does not get', async () => {
    const store = sqlite(':memory:')
    await clientOf(store).publish('e', 1)
    lines.length = 0
    for (let n = 0; n < 2; n++) await serve(store, () => {})
    assert.equal(lines.length, 1)
    assert.match(lines.join(), /'test' is new .*up to 1 events? 'e' were stored before/)
  })

  it('gets as many events as it runs, and leaves the others to the next process', async () => {
    const store = sqlite(':memory:')
    const begun: unknown[] = []
    let end = () => {}
    const held = new Promise<void>((resolve) => {
      end = resolve
    })
    const service = await serve(
      store,
      ({ data }) => {
        begun.push(data)
        return held
      },
      { concurrency: 2 }
    )
    cleanUps.push(async () => end())
    const client = clientOf(store)
    for (let n = 0; n < 5; n++) await client.publish('e', n)
    await until('Two run', () => begun.length === 2)
    const stopped = service.stop()
    const next: unknown[] = []
    await serve(store, ({ data, delivery }) => void next.push([data, delivery?.attempt]))
    await until('The others are handled', () => next.length >= 3)
    end()
    await stopped
    assert.deepEqual(next, [
      [2, 1],
      [3, 1],
      [4, 1]
    ])
  })

  it('gives events back whose handlers have not ended when it stops, and counts their runs', async () => {
    const store = sqlite(':memory:')
    const client = clientOf(store)
    const begun: unknown[] = []
    const service = microservice({ transport: calls, store, name: 'test', logger, drain: 1 }).event(
      'e',
      ({ delivery }) => {
        begun.push(delivery?.attempt)
        return new Promise(() => {})
      },
      { durable: true }
    )
    await service.listen()
    await client.publish('e', 1)
    await until('It runs', () => begun.length === 1)
    await service.stop()
    await serve(store, ({ delivery }) => void begun.push(delivery?.attempt))
    await until('It runs again', () => begun.length === 2)
    assert.deepEqual(begun, [1, 2])
  })

  it('that is ordered leaves its events to the next process when its last run has ended', async () => {
    const store = sqlite(':memory:')
    const client = clientOf(store)
    const seen: unknown[] = []
    let end = () => {}
    const held = new Promise<void>((resolve) => {
      end = resolve
    })
    const one = async ({ data }: Message) => {
      seen.push(`${data} begins`)
      await held
      seen.push(`${data} has ended`)
    }
    const service = await serve(store, one, { ordered: true })
    cleanUps.push(async () => end())
    for (const n of [1, 2]) await client.publish('e', n, { key: 'k' })
    await until('The first runs', () => seen.length === 1)
    const stopped = service.stop()
    await serve(store, ({ data }) => void seen.push(data), { ordered: true })
    const isBack = async () => (await store.query('select 1 from pending where due is not null')).length === 1
    await until('The second was given back', async () => seen.length > 1 || (await isBack()))
    await client.publish('e', 3, { key: 'k' })
    assert.deepEqual(seen, ['1 begins'])
    end()
    await stopped
    await until('All are handled', () => seen.length === 4)
    assert.deepEqual(seen, ['1 begins', '1 has ended', 2, 3])
  })

  it('counts the run of an event that has waited for another one as it begins', async () => {
    const store = sqlite(':memory:')
    const client = clientOf(store)
    const ends: (() => void)[] = []
    const handler = () => new Promise<void>((resolve) => ends.push(resolve))
    await serve(store, handler, { ordered: true })
    for (const n of [1, 2]) await client.publish('e', n, { key: 'k' })
    const attempts = async () =>
      (await store.query('select attempt from pending order by position')).map(({ attempt }) => attempt)
    await until('Both have come', async () => (await attempts()).length === 2)
    assert.deepEqual(await attempts(), [1, 0])
    ends[0]?.()
    await until('The second runs', () => ends.length === 2)
    await until('The first is done', async () => (await attempts()).length === 1)
    assert.deepEqual(await attempts(), [1])
    ends[1]?.()
  })

  it('refuses patterns that no text of SQLite can be', async () => {
    await assert.rejects(clientOf(sqlite(':memory:')).publish('a\u0000b', 1), {
      name: 'OptionError',
      message: /it has a control character/
    })
  })
})

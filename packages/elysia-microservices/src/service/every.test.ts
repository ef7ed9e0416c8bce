import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { tcp } from '@elysia-microservices/tcp'
import { type EventStore, ManualClock, memory, type Recurrence } from '@elysia-microservices/transport'
import { connect } from '../client/connect.ts'
import { microservice } from './microservice.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const logger = { warn() {}, error() {} }
const HOURLY = { cron: '0 * * * *', timeZone: 'UTC' }

describe('an event that recurs', () => {
  const cleanUps: (() => Promise<unknown>)[] = []

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  /** A store whose clock stands at half past noon, and processes of services that handle `report`. */
  function setting() {
    const clock = new ManualClock(Date.UTC(2026, 5, 1, 12, 30))
    const { store } = memory({ clock })
    const seen: string[] = []
    const start = async (name: string, every: Recurrence | undefined = HOURLY) => {
      const service = microservice({ name, transport: tcp({ port: 0 }), store, logger }).event(
        'report',
        ({ data }) => void seen.push(`${name} ${(data as { due: string }).due.slice(11, 16)}`),
        { durable: { every } }
      )
      await service.listen()
      cleanUps.push(() => service.stop())
      return service
    }
    const client = connect({ port: 1, store, logger })
    cleanUps.push(() => client.close())
    const waiting = async () => {
      const ids: string[] = []
      for await (const { id } of client.waiting()) ids.push(id)
      return ids
    }
    return { clock, store, seen, start, client, waiting }
  }

  it('comes at each time once to each group, however many processes the group has', async () => {
    const { clock, seen, start } = setting()
    for (const name of ['a', 'a', 'a', 'b']) await start(name)
    await clock.advance(29 * MINUTE)
    assert.deepEqual(seen, [])
    await clock.advance(2 * HOUR)
    assert.deepEqual(seen.sort(), ['a 13:00', 'a 14:00', 'b 13:00', 'b 14:00'])
  })

  it('comes once for all times at which no process of the group ran', async () => {
    const { clock, seen, start, waiting } = setting()
    const service = await start('a')
    await service.stop()
    await clock.advance(5 * HOUR)
    assert.deepEqual(seen, [])
    await start('a')
    await clock.advance(1)
    assert.deepEqual(seen, ['a 13:00'])
    await clock.advance(30 * MINUTE)
    assert.deepEqual(seen, ['a 13:00', 'a 18:00'])
    assert.deepEqual(await waiting(), ['every a: 0 * * * * UTC@2026-06-01T19:00:00.000Z'])
  })

  it('follows a new rule in place of the old one, and leaves the rules of other groups', async () => {
    const { clock, seen, start, waiting } = setting()
    await start('b')
    await (await start('a')).stop()
    await start('a', { cron: '45 * * * *', timeZone: 'UTC' })
    assert.deepEqual(
      (await waiting()).map((id) => id.slice(0, 19)),
      ['every a: 45 * * * *', 'every b: 0 * * * * ']
    )
    await clock.advance(HOUR)
    assert.deepEqual(seen, ['a 12:45', 'b 13:00'])
  })

  it('comes again although a handler fails', async () => {
    const { clock, store, seen, client } = setting()
    const times: number[] = []
    const service = microservice({ name: 'a', transport: tcp({ port: 0 }), store, logger }).event(
      'report',
      ({ delivery }) => {
        times.push(delivery?.attempt as number)
        throw new Error('not now')
      },
      { durable: { every: HOURLY, retry: { attempts: 2 } } }
    )
    await service.listen()
    cleanUps.push(() => service.stop())
    await clock.advance(2 * HOUR)
    assert.deepEqual([times, seen], [[1, 2, 1, 2], []])
    await client.close()
  })

  it('comes by the schedule of a client to all groups, until it is replaced or ended', async () => {
    const { clock, store, client, waiting } = setting()
    const seen: string[] = []
    for (const name of ['a', 'a', 'b']) {
      const service = microservice({ name, transport: tcp({ port: 0 }), store, logger }).event(
        'report',
        ({ data, headers }) => void seen.push(`${name} ${data} ${Object.keys(headers).length}`),
        { durable: true }
      )
      await service.listen()
      cleanUps.push(() => service.stop())
    }
    const next = await client.schedule('hourly', 'report', 'one', HOURLY)
    assert.equal(next?.toISOString(), '2026-06-01T13:00:00.000Z')
    await client.schedule('hourly', 'report', 'one', HOURLY)
    await clock.advance(90 * MINUTE)
    assert.deepEqual(seen.splice(0).sort(), ['a one 0', 'a one 0', 'b one 0', 'b one 0'])
    await client.schedule('hourly', 'report', 'two', { cron: '30 * * * *', timeZone: 'UTC' })
    assert.deepEqual(await waiting(), ['schedule hourly: 30 * * * * UTC@2026-06-01T14:30:00.000Z'])
    await clock.advance(HOUR)
    assert.deepEqual(seen.splice(0).sort(), ['a two 0', 'b two 0'])
    assert.deepEqual(
      [await client.unschedule('hourly', 'report'), await client.unschedule('hourly', 'report')],
      [true, false]
    )
    await clock.advance(5 * HOUR)
    assert.deepEqual([seen, await waiting()], [[], []])
    await assert.rejects(client.schedule('by the hour', 'report', 1, HOURLY), /id must be/)
    await assert.rejects(client.schedule('hourly', 'report', 1, { cron: '' }), /every\.cron must be/)
  })

  it('needs a rule that can be read, a pattern for one event, and a store that knows the future', async () => {
    const refused = async (pattern: string, every: Recurrence, message: RegExp, store?: EventStore) => {
      const service = microservice({
        name: 'a',
        transport: tcp({ port: 0 }),
        store: store ?? memory(),
        logger
      }).event(pattern, () => {}, { durable: { every } })
      await assert.rejects(service.listen(), message)
    }
    await refused('report', { cron: 'at noon' }, /must be a cron expression.*'at noon'/)
    await refused('report', { cron: '0 6 * * *', timeZone: 'Europe/Nowhere' }, /time zone.*Nowhere/)
    await refused('report.*', HOURLY, /'report\.\*' cannot recur/)
    const { store } = memory()
    await refused('report', HOURLY, /memory cannot keep an event until a time/, {
      ...store,
      stores: { ...store.stores, future: false }
    })
    assert.throws(
      () => microservice().event('report', () => {}, { durable: { every: { cron: '' } } }),
      /options\.durable\.every\.cron must be a cron expression/
    )
  })
})

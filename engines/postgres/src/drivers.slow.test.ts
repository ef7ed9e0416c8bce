/** Events in PostgreSQL with each driver: in the transactions of their publishers. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DRIVERS } from '@elysia-microservices/outbox/testing'
import { Log, until } from '@elysia-microservices/test-support'
import { memory } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { postgres } from './index.ts'
import { databases } from './testing/database.ts'

const { database, cleanUp } = databases()
const { logger } = new Log()
const calls = { ...memory(), name: 'calls' }

for (const driver of DRIVERS)
  describe(`events in PostgreSQL with ${driver}`, () => {
    it('are handled if the transaction in which they are published is committed, and in the order of their key', async () => {
      const { sql, begin } = await database(driver)
      const store = postgres({ sql })
      const seen: unknown[] = []
      for (const _ of [1, 2]) {
        const service = microservice({ transport: calls, store, name: 'both', logger }).event(
          'e',
          ({ data, headers }: Message) => void seen.push([data, headers['x']]),
          { durable: { ordered: true, start: 'all' } }
        )
        await service.listen()
        cleanUp(() => service.stop())
      }
      const publish = (n: number, fails: boolean) =>
        begin(async (tx) => {
          await store.in(tx).publish('e', n, { key: 'k', headers: { x: 'y' } })
          if (fails) throw new Error('undone')
        }).catch(() => {})
      for (let n = 0; n < 20; n++) await publish(n, n % 3 === 0)
      const expected = Array.from({ length: 20 }, (_, n) => n).filter((n) => n % 3 !== 0)
      await until('All have come', () => seen.length >= expected.length)
      assert.deepEqual(
        seen,
        expected.map((n) => [n, 'y'])
      )
    })

    it('wait for their time only if the transaction in which they are published is committed', async () => {
      const { sql, begin, query } = await database(driver)
      const store = postgres({ sql })
      const seen: unknown[] = []
      const service = microservice({ transport: calls, store, name: 'g', logger }).event(
        'e',
        ({ data }) => void seen.push(data),
        { durable: true }
      )
      await service.listen()
      const client = connect({ transport: calls, store, logger })
      cleanUp(
        () => service.stop(),
        () => client.close()
      )
      const publish = (id: string, delay: number, fails = false) =>
        begin(async (tx) => {
          const published = await store.in(tx).publish('e', id, { id, delay })
          assert.deepEqual(published, { id, position: undefined, duplicate: false })
          if (fails) throw new Error('undone')
        }).catch((error: Error) => assert.match(error.message, /undone/))
      await publish('undone', 3_600_000, true)
      await publish('undone soon', 300, true)
      await publish('later', 3_600_000)
      await publish('soon', 300)
      await until('The first is due', () => seen.length > 0)
      assert.deepEqual(seen, ['soon'])
      assert.deepEqual(await query('select id from elysia_microservices.later'), [{ id: 'later' }])
      assert.equal(await client.fire('e', 'later'), true)
      await until('The other comes', () => seen.length > 1)
      assert.deepEqual(seen, ['soon', 'later'])
    })

    it('are refused outside of a transaction, and before the database sees what it cannot store', async () => {
      const { sql, begin, outside } = await database(driver)
      const store = postgres({ sql })
      const given = (await outside()) as never
      await assert.rejects(store.in(given).publish('e', 1), { name: 'OptionError' })
      await begin(async (tx) => {
        await assert.rejects(store.in(tx).publish('e', 1, { key: 'a\u0000' }), { name: 'OptionError' })
        await assert.rejects(store.in(tx).publish('x'.repeat(2_000), 1), { name: 'OptionError' })
        assert.equal((await store.in(tx).publish('e', 1)).position, '1')
      })
    })
  })

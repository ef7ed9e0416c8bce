/** An engine as a store only: calls travel by another transport. */
import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { Log, until } from '@elysia-microservices/test-support'
import type { StoringTransport } from '@elysia-microservices/transport'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import type { EngineUnderTest, RunningEngine } from './engine-under-test.ts'
import { casesOver } from './needs.ts'
import { placesOf } from './place.ts'

/** Declares the cases of this file over an engine. */
export function storeAlone(under: EngineUnderTest): void {
  casesOver(under, 'a store beside another transport', ['stores'], ({ title, start }, caseOf) => {
    describe(`${title} as a store beside another transport`, () => {
      let engine: RunningEngine
      before(async () => {
        engine = await start()
      })
      after(() => engine.close())

      caseOf('keeps what is published for all services, and what is emitted for its own', [], async () => {
        const log = new Log()
        const { logger } = log
        const seen: string[] = []
        const store = () => (engine.transport() as StoringTransport).store
        const places = ['one', 'other'].map((name) => ({ name, place: placesOf({ ...engine, store })() }))
        const services = places.map(({ name, place }) =>
          microservice({ ...place, name, logger })
            .message('name', () => name)
            .event(
              'moved',
              ({ data, headers, transport }) =>
                void seen.push(`${name} ${data} ${transport} ${headers['x-a']}`),
              {
                durable: true
              }
            )
        )
        for (const service of services) await service.listen()
        const [{ place }] = places as [(typeof places)[0]]
        const client = connect({ ...place, logger })
        assert.equal(await client.request('name'), 'one')
        await client.publish('moved', 'published', { headers: { 'x-a': '1' } })
        await client.emit('moved', 'emitted', { headers: { 'x-a': '2' } })
        const { name } = store()
        const expected = [`one emitted ${name} 2`, `one published ${name} 1`, `other published ${name} 1`]
        await until('All have come', () => seen.length >= expected.length)
        await client.publish('moved', 'last', { headers: { 'x-a': '3' } })
        await until('The last has come', () => seen.filter((one) => one.includes('last')).length === 2)
        assert.deepEqual(seen.filter((one) => !one.includes('last')).sort(), expected)
        const figures = services.map((service) => service.stats().map(({ durable }) => durable?.length))
        assert.deepEqual(figures, [
          [undefined, 1],
          [undefined, 1]
        ])
        await client.close()
        for (const service of services) await service.stop()
        assert.deepEqual(
          log.lines.filter((line) => /error/i.test(line)),
          []
        )
      })
    })
  })
}

/** Events that wait for their time, over every store that keeps them. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { until } from '@elysia-microservices/test-support'
import type { Message } from 'elysia-microservices'
import type { EngineUnderTest } from '../engine-under-test.ts'
import { casesOver } from '../needs.ts'
import { durableScene } from './scene.ts'

/** Milliseconds after which an event is due of which nothing is asked until it has come. */
const SOON = 300
const HOUR = 3_600_000

/** Declares the cases of this file over an engine. */
export function futureEvents(under: EngineUnderTest): void {
  casesOver(under, 'events that wait for their time', ['stores', 'future'], (engine, caseOf) => {
    describe(`an event that waits for its time over ${engine.title}`, () => {
      const { fresh, newClient, serve } = durableScene(engine)
      const note = (pattern: string, name: string, seen: Message[]) =>
        serve(pattern, (message) => void seen.push(message), { ordered: true }, { name })

      caseOf('comes once to each group that exists by then, and never before', [], async () => {
        const pattern = fresh()
        const seen: Message[] = []
        await note(pattern, 'early', seen)
        await note(pattern, 'early', seen)
        const client = newClient()
        const first = await client.publish(pattern, { n: 1 }, { id: 'x', delay: HOUR })
        assert.deepEqual(first, { id: 'x', position: undefined, duplicate: false })
        if (engine.waitsApart !== true)
          assert.equal((await client.publish(pattern, { n: 2 }, { id: 'x' })).duplicate, true)
        assert.equal((await client.publish(pattern, { n: 2 }, { id: 'x', delay: HOUR / 2 })).duplicate, true)
        await note(pattern, 'late', seen)
        assert.equal(seen.length, 0)
        assert.equal(await client.fire(pattern, 'x'), true)
        await until('Both groups have it', () => seen.length === 2)
        const at = new Date(Date.now() + SOON)
        await client.publish(pattern, { n: 3 }, { id: 'y', key: 'k', headers: { 'x-a': 'ä' }, at })
        await until('Both groups have the one that is due soon', () => seen.length === 4)
        for (const { data, headers, delivery } of seen.slice(2)) {
          assert.deepEqual([data, headers, delivery?.id, delivery?.key], [{ n: 3 }, { 'x-a': 'ä' }, 'y', 'k'])
          assert.ok(delivery?.publishedAt !== undefined && delivery.publishedAt >= at)
        }
        assert.equal((await client.publish(pattern, { n: 4 }, { id: 'y', delay: SOON })).duplicate, true)
      })

      caseOf('can be listed, cancelled and delivered at once until it comes', [], async () => {
        const pattern = fresh()
        const seen: Message[] = []
        await note(pattern, 'cancelled', seen)
        const client = newClient()
        const at = new Date(Date.now() + 2 * HOUR)
        await client.publish(pattern, 'later', { id: 'b', at, key: 'k', headers: { 'x-a': '1' } })
        await client.publish(pattern, 'sooner', { id: 'a', delay: HOUR })
        await client.publish(fresh(), 'other', { id: 'c', delay: HOUR })
        const all = async () => {
          const list = []
          for await (const one of client.waiting({ pattern })) list.push(one)
          return list
        }
        const [sooner, later] = await all()
        assert.deepEqual([sooner?.id, sooner?.data], ['a', 'sooner'])
        assert.deepEqual(later, { pattern, id: 'b', key: 'k', at, headers: { 'x-a': '1' }, data: 'later' })
        assert.deepEqual(
          [
            await client.cancel(pattern, 'a'),
            await client.cancel(pattern, 'a'),
            await client.fire(pattern, 'a')
          ],
          [true, false, false]
        )
        assert.deepEqual(
          (await all()).map(({ id }) => id),
          ['b']
        )
        await client.publish(pattern, 'again', { id: 'a', delay: 1 })
        await until('It has come', () => seen.length === 1)
        assert.equal(seen[0]?.data, 'again')
        assert.equal(await client.cancel(pattern, 'a'), false)
        assert.equal(await client.fire(pattern, 'b'), true)
        await until('The other one has come', () => seen.length === 2)
        assert.deepEqual([seen[1]?.data, seen[1]?.delivery?.id], ['later', 'b'])
        assert.deepEqual([await all(), await client.fire(pattern, 'b')], [[], false])
      })

      caseOf(
        'is listed once among many that are due at the same time, those of other patterns left out',
        [],
        async () => {
          const [pattern, other] = [fresh(), fresh()]
          const client = newClient()
          const at = new Date(Date.now() + HOUR)
          const ids = Array.from({ length: 101 }, (_, n) => `id-${100 + n}`)
          await Promise.all(
            ids.flatMap((id) => [pattern, other].map((to) => client.publish(to, id, { id, at })))
          )
          const listed = async (limit?: number) => {
            const list: string[] = []
            for await (const { id } of client.waiting({ pattern, ...(limit !== undefined && { limit }) }))
              list.push(id)
            return list
          }
          assert.deepEqual(await listed(), ids)
          assert.deepEqual(await listed(100), ids.slice(0, 100))
          await Promise.all(ids.flatMap((id) => [pattern, other].map((from) => client.cancel(from, id))))
        }
      )

      caseOf('is published at once if its time has passed', ['positions'], async () => {
        const pattern = fresh()
        const seen: Message[] = []
        await note(pattern, 'passed', seen)
        const client = newClient()
        const past = { id: 'x', at: new Date(Date.now() - HOUR) }
        const { position, duplicate } = await client.publish(pattern, 1, past)
        assert.deepEqual([typeof position, duplicate], ['string', false])
        assert.deepEqual(await client.publish(pattern, 2, past), { id: 'x', position, duplicate: true })
        await until('It has come', () => seen.length === 1)
        assert.deepEqual([seen[0]?.data, seen[0]?.delivery?.position], [1, position])
      })

      caseOf('counts from its time among those of its key', [], async () => {
        const pattern = fresh()
        const seen: Message[] = []
        await note(pattern, 'keys', seen)
        const client = newClient()
        await client.publish(pattern, 1, { id: 'one', key: 'k', delay: HOUR })
        await client.publish(pattern, 2, { key: 'k' })
        await until('The later one has come', () => seen.length === 1)
        await client.fire(pattern, 'one')
        await until('Both have come', () => seen.length === 2)
        assert.deepEqual(
          seen.map(({ data }) => data),
          [2, 1]
        )
      })
    })
  })
}

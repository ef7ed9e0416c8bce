/** An event that is stored: the handlers that get it, and with which words. */
import assert from 'node:assert/strict'
import { until, Values } from '@elysia-microservices/test-support'
import { type Message, microservice } from 'elysia-microservices'
import type { CaseOf } from '../needs.ts'
import type { Scene } from './scene.ts'

export function storing(
  { under, log, engine, place, fresh, newClient, serve, cleanUp }: Scene,
  caseOf: CaseOf
): void {
  caseOf(
    'is stored once for an id, and its handler learns about its delivery',
    ['once', 'positions'],
    async () => {
      const pattern = fresh()
      const seen = new Values<Message>()
      await serve(pattern, (message) => seen.put(message))
      const client = newClient()
      const first = await client.publish(
        pattern,
        { order: 7 },
        { id: 'evt 7', key: 'a.b ü', headers: { 'x-a': '1' } }
      )
      const again = await client.publish(pattern, { order: 7 }, { id: 'evt 7' })
      assert.deepEqual(first, { id: 'evt 7', position: first.position, duplicate: false })
      assert.deepEqual(again, { ...first, duplicate: true })
      const { data, delivery, headers, transport } = await seen.take()
      assert.deepEqual([data, headers, transport], [{ order: 7 }, { 'x-a': '1' }, under.name])
      assert.deepEqual(
        [delivery?.id, delivery?.key, delivery?.attempt, delivery?.redelivered, delivery?.group],
        ['evt 7', 'a.b ü', 1, false, 'test']
      )
      assert.ok((delivery?.age as number) >= 0)
      assert.equal(delivery?.position, first.position)
    }
  )

  caseOf(
    'that was published before its first service ran reaches the groups that want all',
    ['startsAll', 'positions'],
    async () => {
      const pattern = fresh()
      const client = newClient()
      const all = await Promise.all([1, 2, 3].map((n) => client.publish(pattern, n)))
      assert.equal(new Set(all.map(({ position }) => position)).size, 3)
      const seen: Record<string, unknown[]> = { all: [], behind: [], since: [], fresh: [] }
      const starts = {
        all: 'all',
        behind: { after: all[0]?.position as string },
        since: { since: new Date(0) },
        fresh: 'new'
      } as const
      for (const [name, start] of Object.entries(starts))
        await serve(pattern, ({ data }) => void seen[name]?.push(data), { start, group: name })
      const said = `The group 'fresh' is new and begins with the next event: up to 3 events '${pattern}' were stored before, and it does not get them. With durable.start 'all' a new group gets them`
      assert.deepEqual(
        log.lines
          .filter((line) => line.includes(`'${pattern}' were stored before`))
          .map((line) => line.trim()),
        [said]
      )
      await client.publish(pattern, 4)
      await until('All have come', () => Object.values(seen).every((list) => list.includes(4)))
      assert.deepEqual(seen, { all: [1, 2, 3, 4], behind: [2, 3, 4], since: [1, 2, 3, 4], fresh: [4] })
    }
  )

  caseOf(
    'that is emitted is handled once, and one that is published by plain handlers, too, unless a store has it',
    [],
    async () => {
      const pattern = fresh()
      const seen: unknown[] = []
      const plain: unknown[] = []
      const service = microservice({ name: 'both', ...place(), logger: log.logger })
        .event(pattern, ({ data }) => void seen.push(data), { durable: true })
        .event(pattern, ({ data }) => void plain.push(data))
      await service.listen()
      cleanUp(() => service.stop())
      const client = newClient()
      await client.emit(pattern, 'emitted')
      await client.publish(pattern, 'published')
      const expected = ['emitted', 'published']
      const ofPlain = engine().store === undefined ? expected : ['emitted']
      await until('All have come', () => seen.length === 2 && plain.length === ofPlain.length)
      // An emitted event is stored by the service, so it may come behind what was published meanwhile.
      assert.deepEqual([seen.toSorted(), plain], [expected, ofPlain])
    }
  )

  caseOf('is handled by a pattern with wildcards', ['wideStores'], async () => {
    const first = fresh().replace('.happened', '')
    const seen = new Values<unknown>()
    await serve(`${first}.*`, ({ data, delivery }) => seen.put([data, delivery?.attempt]))
    await newClient().publish(`${first}.paid`, 1)
    await newClient().publish(`${first}.sent`, 2)
    assert.deepEqual(
      [await seen.take(), await seen.take()],
      [
        [1, 1],
        [2, 1]
      ]
    )
  })
}

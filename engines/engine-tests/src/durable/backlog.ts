/** The backlog of a group: what is stored and not handled can be looked at, while nothing is changed. */
import assert from 'node:assert/strict'
import { until } from '@elysia-microservices/test-support'
import { type BacklogEvent, OptionError } from '@elysia-microservices/transport'
import type { Message } from 'elysia-microservices'
import type { CaseOf } from '../needs.ts'
import type { Scene } from './scene.ts'

const HOUR = 3_600_000

export function backlogs({ under, fresh, newClient, serve }: Scene, caseOf: CaseOf): void {
  const shown = under.traits.stores?.backlog

  caseOf(`${shown === undefined ? 'cannot be' : 'can be'} looked at before it is handled`, [], async () => {
    const pattern = fresh()
    const seen: unknown[] = []
    let end = () => {}
    const held = new Promise<void>((resolve) => {
      end = resolve
    })
    const handler = async ({ data }: Message) => {
      seen.push(data)
      if (data === 'fails') throw new Error('not now')
      if (data === 'runs') await held
    }
    const retry = { attempts: 2, minDelay: HOUR, maxDelay: HOUR }
    await serve(pattern, handler, { retry }, { name: 'looked' })
    const client = newClient()
    const group = client.group('looked')
    const all = async (limit?: number) => {
      const list: BacklogEvent[] = []
      for await (const one of group.backlog({ limit })) list.push(one)
      return list
    }
    try {
      for (const data of ['done', 'fails', 'runs']) await client.publish(pattern, data, { id: data })
      await until('All have come', () => seen.length === 3)
      await group.pause()
      await client.publish(pattern, { n: 1 }, { id: 'waits', key: 'k', headers: { 'x-a': 'ä' } })
      const { position } = await client.publish(pattern, 'last', { id: 'last' })
      if (shown === undefined) {
        await assert.rejects(all(), { path: 'group.backlog' })
        return
      }
      const had = shown === 'all' ? ['fails pausing 1', 'runs running 1'] : []
      const wanted = [...had, 'waits waiting 0', 'last waiting 0']
      const told = async () => (await all()).map(({ id, state, attempts }) => `${id} ${state} ${attempts}`)
      await until('What has happened is written', async () => String(await told()) === String(wanted))
      const [waits, last] = (await all()).slice(-2)
      assert.deepEqual(
        { ...waits, position: '', publishedAt: 0 },
        {
          ...{ position: '', pattern, id: 'waits', key: 'k', headers: { 'x-a': 'ä' }, data: { n: 1 } },
          ...{ publishedAt: 0, state: 'waiting', attempts: 0, dueAt: undefined }
        }
      )
      assert.ok(waits !== undefined && Math.abs(Date.now() - waits.publishedAt.getTime()) < HOUR)
      assert.deepEqual([last?.position, last?.data, last?.key], [position, 'last', undefined])
      if (shown === 'all') assert.ok(((await all())[0]?.dueAt?.getTime() ?? 0) > Date.now())
      assert.equal((await all(1)).length, 1)
      assert.deepEqual(await told(), wanted)
      const nobody = client.group('nobody').backlog()
      await assert.rejects(
        async () => void (await nobody[Symbol.asyncIterator]().next()),
        (error: Error) => {
          assert.ok(error instanceof OptionError)
          assert.match(error.message, /no group 'nobody'/)
          return true
        }
      )
    } finally {
      end()
      await group.resume()
    }
    await until('What was looked at is handled', () => seen.length === 5)
    assert.equal(new Set(seen.map(String)).size, 5)
  })

  caseOf('of a pattern with wildcards is one list', ['wideStores'], async () => {
    if (shown === undefined) return
    const one = fresh()
    const wide = `${one}.*`
    const client = newClient()
    const service = await serve(wide, () => {}, {}, { name: 'wide' })
    await client.group('wide').pause()
    await service.stop()
    const ids = ['a', 'b', 'a', 'c'].map((end, n) => [`${one}.${end}`, `${n}`] as const)
    for (const [pattern, id] of ids) await client.publish(pattern, id, { id })
    const list: (readonly [string, string])[] = []
    for await (const { pattern, id } of client.group('wide').backlog()) list.push([pattern, id])
    // The order among streams that the engine has for each pattern is that of their times.
    assert.deepEqual(
      list.toSorted(([, id], [, other]) => Number(id) - Number(other)),
      ids
    )
  })
}

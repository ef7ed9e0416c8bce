import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { busy } from '@elysia-microservices/test-support'
import type { BacklogEvent } from '@elysia-microservices/transport/kit'
import { OverFake } from '../testing/over-fake.ts'

describe('the events that no process of a group has received', () => {
  let over: OverFake
  beforeEach(() => {
    over = new OverFake()
  })
  afterEach(() => over.close())

  async function backlog(limit?: number, group = 'g') {
    const client = await over.open()
    const found: BacklogEvent[] = []
    for await (const one of client.backlog(group, limit === undefined ? {} : { limit })) found.push(one)
    return found
  }
  const data = async (limit?: number) => (await backlog(limit)).map((one) => one.data)
  /** A group without a process. */
  const away = async (pattern: string, storage = {}) => {
    await (await over.serve(pattern, () => {}, { storage })).stop()
  }

  it('are listed the oldest first, of all patterns, up to a limit', async () => {
    for (const pattern of ['p', 'q']) await away(pattern)
    assert.deepEqual(await data(), [])
    for (let n = 1; n <= 6; n++) {
      await over.pass(10)
      await over.publish(n % 2 === 0 ? 'p' : 'q', [n])
    }
    assert.deepEqual(await data(), [1, 2, 3, 4, 5, 6])
    assert.deepEqual(await data(3), [1, 2, 3])
    assert.deepEqual([await data(1), await data(0)], [[1], []])
  })

  it('do not have those of other subjects', async () => {
    const storage = { stream: { name: 'wide', subjects: ['wide.>'] } }
    await away('wide.*', storage)
    const client = await over.open(storage)
    for (let n = 1; n <= 9; n++) await client.publish(n % 3 === 0 ? 'wide.a.b' : 'wide.a', n)
    assert.deepEqual(await data(), [1, 2, 4, 5, 7, 8])
  })

  it('do not have those that a process has', async () => {
    const { handler, go } = busy(() => {})
    await over.serve('p', handler, { concurrency: 1 })
    await over.publish('p', [1, 2, 3, 4])
    await over.settle()
    assert.equal(over.infoOf('p').delivered.stream_seq, 1)
    assert.deepEqual(await data(), [2, 3, 4])
    go()
  })

  it('are told with all that is known of them, and that nobody has tried', async () => {
    await away('p')
    const client = await over.open()
    await client.publish('p', { n: 1 }, { id: 'an id', key: 'k', headers: { x: '1' } })
    const [one] = await backlog()
    const { publishedAt, ...rest } = one as BacklogEvent
    assert.equal(publishedAt.getTime(), over.clock.now())
    assert.deepEqual(rest, {
      position: '1',
      pattern: 'p',
      id: 'an id',
      key: 'k',
      headers: { x: '1' },
      data: { n: 1 },
      state: 'waiting',
      attempts: 0,
      dueAt: undefined
    })
  })

  it('are of groups that exist', async () => {
    await assert.rejects(backlog(undefined, 'nobody'), /no group 'nobody'|nobody/)
    await away('p')
    assert.deepEqual(await backlog(), [])
  })
})

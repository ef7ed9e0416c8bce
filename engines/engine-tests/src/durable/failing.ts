/** Handlers that fail: pauses, dead letters, and the way back from there. */
import assert from 'node:assert/strict'
import { until } from '@elysia-microservices/test-support'
import { Discard, RetryLater } from '@elysia-microservices/transport'
import type { Message } from 'elysia-microservices'
import type { CaseOf } from '../needs.ts'
import { durableStats } from '../place.ts'
import type { Scene } from './scene.ts'

export function failing({ fresh, newClient, serve }: Scene, caseOf: CaseOf): void {
  caseOf(
    'that fails comes again after a pause, and is a dead letter at last; others go on',
    ['browses'],
    async () => {
      const pattern = fresh()
      const seen: string[] = []
      const service = await serve(
        pattern,
        ({ data, delivery }) => {
          seen.push(`${data} ${delivery?.attempt}`)
          if (data === 'bad') throw new Error('not now')
        },
        { retry: { attempts: 3, minDelay: 100 }, concurrency: 1 },
        { name: 'retry' }
      )
      const client = newClient()
      await client.publish(pattern, 'bad', { id: 'b', key: 'k', headers: { 'x-a': 'ä' } })
      await client.publish(pattern, 'good')
      const letters = client.group('retry').deadLetters
      await until('It is a dead letter', async () => (await all(letters.list())).length === 1)
      assert.deepEqual(seen, ['bad 1', 'good 1', 'bad 2', 'bad 3'])
      const [letter] = await all(letters.list())
      const { position, publishedAt, diedAt, ...rest } = letter as NonNullable<typeof letter>
      assert.deepEqual(rest, {
        ...{ group: 'retry', pattern, id: 'b', key: 'k', reason: 'Error: not now', attempts: 3 },
        headers: { 'x-a': 'ä' },
        data: 'bad'
      })
      assert.ok(publishedAt.getTime() <= diedAt.getTime() && publishedAt.getTime() > 0)
      await until('The figures say so', () => {
        const [figures] = durableStats(service)?.durable ?? []
        return figures?.deadLetters === 1 && figures.redeliveries === 2 && figures.lag === 0
      })
      await assert.rejects(all(client.group('other').deadLetters.list()), /There is no group 'other'/)
      assert.equal(await client.group('other').deadLetters.discard(position), false)
      assert.equal(await letters.discard(position), true)
      assert.equal(await letters.discard(position), false)
      assert.equal(await letters.get(position), undefined)
    }
  )

  caseOf(
    'goes back to its group alone from the dead letters, also if the group is down',
    ['browses'],
    async () => {
      const pattern = fresh()
      let isBroken = true
      const seen: string[] = []
      const handler = (name: string) => (message: Message) => {
        const { data, delivery } = message
        seen.push(
          `${name} ${data} ${delivery?.id} ${delivery?.key} ${delivery?.attempt} ${delivery?.position}`
        )
        if (isBroken && name === 'c') throw new Error('broken')
      }
      const service = await serve(pattern, handler('c'), { retry: { attempts: 1 } }, { name: 'c' })
      await serve(pattern, handler('d'), {}, { name: 'd' })
      const client = newClient()
      const { position } = await client.publish(pattern, 1, { id: 'x', key: 'k' })
      const letters = client.group('c').deadLetters
      await until('It is a dead letter', async () => (await all(letters.list())).length === 1)
      await service.stop()
      isBroken = false
      const [letter] = await all(letters.list())
      assert.equal(await letters.redrive(letter?.position as string), true)
      assert.equal(await letters.redrive(letter?.position as string), false)
      assert.deepEqual(await all(letters.list()), [])
      await serve(pattern, handler('c'), { retry: { attempts: 1 } }, { name: 'c' })
      await until('It is handled again', () => seen.length === 3)
      const said = `1 x k 1 ${position}`
      assert.deepEqual(seen.sort(), [`c ${said}`, `c ${said}`, `d ${said}`])
    }
  )

  caseOf(
    'goes back from the dead letters to an ordered group that has nothing else to do',
    ['browses'],
    async () => {
      const pattern = fresh()
      const seen: number[] = []
      let isBroken = true
      const handler = ({ delivery }: Message) => {
        if (isBroken) throw new Error('broken')
        seen.push(delivery?.attempt as number)
      }
      const durable = { ordered: true, retry: { attempts: 1 } }
      const service = await serve(pattern, handler, durable, { name: 'idle' })
      const client = newClient()
      await client.publish(pattern, 1, { key: 'k' })
      const letters = client.group('idle').deadLetters
      await until('It is a dead letter', async () => (await all(letters.list())).length === 1)
      await service.stop()
      isBroken = false
      const [letter] = await all(letters.list())
      await letters.redrive(letter?.position as string)
      await serve(pattern, handler, durable, { name: 'idle' })
      await until('It is handled', () => seen.length === 1)
      assert.deepEqual(seen, [1])
    }
  )

  caseOf('is discarded, or put off, as its handler says', ['browses'], async () => {
    const pattern = fresh()
    const seen: string[] = []
    await serve(
      pattern,
      ({ data, delivery }) => {
        seen.push(`${data} ${delivery?.attempt}`)
        if (data === 'unwanted') throw new Discard('known')
        if ((delivery?.attempt ?? 0) < 4) throw new RetryLater(100)
      },
      { retry: { attempts: 2 } },
      { name: 'says' }
    )
    const client = newClient()
    await client.publish(pattern, 'unwanted')
    await client.publish(pattern, 'later')
    await until('It has come again and again', () => seen.length === 5)
    assert.deepEqual(seen, ['unwanted 1', 'later 1', 'later 2', 'later 3', 'later 4'])
    assert.deepEqual(await all(client.group('says').deadLetters.list()), [])
  })
}

async function all<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const list: Value[] = []
  for await (const value of values) list.push(value)
  return list
}

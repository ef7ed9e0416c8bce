/** Groups: one process of each gets an event, in the order of its key, unless the group is paused. */
import assert from 'node:assert/strict'
import { until } from '@elysia-microservices/test-support'
import { OptionError } from '@elysia-microservices/transport'
import { insideOf } from '@elysia-microservices/transport/kit'
import type { Message } from 'elysia-microservices'
import type { CaseOf } from '../needs.ts'
import { durableStats } from '../place.ts'
import type { Scene } from './scene.ts'

export function groups({ fresh, newClient, serve }: Scene, caseOf: CaseOf): void {
  caseOf('goes to one process of each group, and is handled when a process returns', [], async () => {
    const pattern = fresh()
    const seen: string[] = []
    const note = (name: string) => (message: Message) => void seen.push(`${name} ${message.data}`)
    const one = await serve(pattern, note('a'), {}, { name: 'a' })
    const two = await serve(pattern, note('a'), {}, { name: 'a' })
    await serve(pattern, note('b'), {}, { name: 'b' })
    const client = newClient()
    for (let n = 0; n < 20; n++) await client.publish(pattern, n)
    await until('All are handled', () => seen.length >= 40)
    assert.equal(new Set(seen).size, 40)
    await one.stop()
    await two.stop()
    await client.publish(pattern, 'late')
    await serve(pattern, note('a'), {}, { name: 'a' })
    await until('The late one is handled', () => seen.includes('a late') && seen.includes('b late'))
    assert.equal(seen.length, 42)
  })

  caseOf('waits for those of its key before it if they are ordered, and other keys go on', [], async () => {
    const pattern = fresh()
    const seen: string[] = []
    await serve(
      pattern,
      async ({ data, delivery }) => {
        seen.push(`${delivery?.key}${data} ${delivery?.attempt}`)
        if (delivery?.key === 'a' && data === 0 && delivery.attempt < 3) throw new Error('not now')
      },
      { ordered: true, retry: { attempts: 3, minDelay: 100, factor: 1 } },
      { name: 'ordered' }
    )
    const client = newClient()
    const both = [0, 1, 2].flatMap((n) => ['a', 'b'].map((key) => client.publish(pattern, n, { key })))
    await Promise.all(both)
    await until('All have come', () => seen.length === 8)
    assert.deepEqual(
      seen.filter((one) => one.startsWith('a')),
      ['a0 1', 'a0 2', 'a0 3', 'a1 1', 'a2 1']
    )
    assert.deepEqual(
      seen
        .slice(0, 5)
        .filter((one) => one.startsWith('b'))
        .slice(0, 3),
      ['b0 1', 'b1 1', 'b2 1']
    )
  })

  caseOf('waits while its group is paused, in all its processes', [], async () => {
    const pattern = fresh()
    const seen: unknown[] = []
    await serve(pattern, ({ data }) => void seen.push(data), {}, { name: 'paused' })
    const client = newClient()
    await client.group('paused').pause()
    await client.publish(pattern, 1)
    const service = await serve(pattern, ({ data }) => void seen.push(data), {}, { name: 'paused' })
    await until('It is known', () => durableStats(service)?.durable?.[0]?.isPaused === true)
    assert.deepEqual(seen, [])
    const lag = client.group('paused').lag()
    if (insideOf(client)?.durable?.lag === undefined) await assert.rejects(lag, { path: 'group.lag' })
    else assert.equal(await lag, 1)
    await client.group('paused').resume()
    await until('It is handled', () => seen.length === 1)
    await assert.rejects(client.group('nobody').pause(), (error: Error) => {
      assert.ok(error instanceof OptionError)
      assert.match(error.message, /no group 'nobody'/)
      return true
    })
  })

  for (const ordered of [true, false])
    caseOf(
      `of ${ordered ? 'an ordered' : 'a'} group that is paused and resumed while a handler runs is not held back`,
      [],
      async () => {
        const pattern = fresh()
        const name = `resumed-${ordered}`
        const seen: unknown[] = []
        let end = () => {}
        const held = new Promise<void>((resolve) => {
          end = resolve
        })
        const handler = async ({ data }: Message) => {
          if (data === 0) await held
          seen.push(data)
        }
        const service = await serve(pattern, handler, { ordered, concurrency: 1 }, { name })
        const client = newClient()
        for (let n = 0; n < 3; n++) await client.publish(pattern, n, { key: 'k' })
        await until('It runs', () => durableStats(service)?.inFlight.current === 1)
        await client.group(name).pause()
        await client.group(name).resume()
        end()
        await client.publish(pattern, 3, { key: 'k' })
        await until('All are handled', () => seen.length >= 4)
        if (ordered) assert.deepEqual(seen, [0, 1, 2, 3])
      }
    )
}

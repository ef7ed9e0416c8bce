/** Processes that are slow, hang, or stop while they have events. */
import assert from 'node:assert/strict'
import { PATIENCE, until } from '@elysia-microservices/test-support'
import type { CaseOf } from '../needs.ts'
import type { Scene } from './scene.ts'

/** Milliseconds: nine tenths of the `ackWait` of tests. */
const NEARLY_ACK_WAIT = 900
/** Memory that nobody writes to: to wait for it blocks the process. */
const NEVER = new Int32Array(new SharedArrayBuffer(4))

export function processes({ under, fresh, newClient, serve }: Scene, caseOf: CaseOf): void {
  caseOf('whose handler takes longer than signs of life may be missing runs once', [], async () => {
    const pattern = fresh()
    let runs = 0
    let isDone = false
    const handler = async () => {
      runs++
      await new Promise((resolve) => setTimeout(resolve, 3_500))
      isDone = true
    }
    // Either of the two may get the event.
    await serve(pattern, handler)
    await serve(pattern, handler)
    await newClient().publish(pattern, 1)
    await until('It has ended', () => isDone || runs > 1)
    // Long enough for the event to be delivered again, if it was not acknowledged.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    assert.equal(runs, 1)
  })

  caseOf('keeps its place if its process hangs for nearly `ackWait`', [], async () => {
    const pattern = fresh()
    const seen: number[] = []
    await serve(
      pattern,
      ({ data }) => {
        if (!seen.includes(data as number)) seen.push(data as number)
        if (seen.length !== 20 && seen.length !== 60) return
        // The process no longer counts on its events, and the engine does not deliver them again yet.
        Atomics.wait(NEVER, 0, 0, NEARLY_ACK_WAIT)
      },
      { ordered: true, concurrency: 1, retry: { attempts: 10 } }
    )
    const client = newClient(PATIENCE)
    const all = Array.from({ length: 300 }, (_, n) => n)
    await Promise.all(all.map((n) => client.publish(pattern, n, { key: 'k' })))
    await until('All are handled', () => seen.length === all.length)
    assert.deepEqual(seen, all)
  })

  caseOf('keeps its place if it is ordered and fails while its process stops', [], async () => {
    const pattern = fresh()
    const durable = { ordered: true, retry: { attempts: 5, minDelay: 500, factor: 1 } }
    let hasBegun = false
    let fail = () => {}
    const failing = new Promise<void>((_, reject) => {
      fail = () => reject(new Error('while it stops'))
    })
    const first = await serve(
      pattern,
      () => {
        hasBegun = true
        return failing
      },
      durable,
      { name: 'place' }
    )
    const client = newClient()
    for (const n of [0, 1, 2]) await client.publish(pattern, n, { key: 'k' })
    await until('The first has begun', () => hasBegun)
    const stopped = first.stop()
    fail()
    await stopped
    const seen: unknown[] = []
    await serve(pattern, ({ data }) => void seen.push(data), durable, { name: 'place' })
    await until('All are handled', () => seen.length >= 3)
    assert.deepEqual(seen, [0, 1, 2])
  })

  caseOf(
    'goes back at once when its service stops before it has begun; what runs is waited for',
    [],
    async () => {
      const pattern = fresh()
      const seen: string[] = []
      let release = () => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const first = await serve(
        pattern,
        ({ data }) => {
          seen.push(`first ${data}`)
          return held
        },
        { concurrency: 1 }
      )
      const client = newClient()
      for (let n = 0; n < 4; n++) await client.publish(pattern, n)
      await until('It runs', () => seen.length === 1)
      const stopped = first.stop()
      if (under.sharesByPartition === true) release()
      await serve(pattern, ({ data }) => void seen.push(`second ${data}`))
      await until('Another has the rest', () => seen.length === 4)
      release()
      await stopped
      // Long enough for an event to be delivered a second time.
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      assert.deepEqual(seen.sort(), ['first 0', 'second 1', 'second 2', 'second 3'])
    }
  )
}

/** A server that is lost while events are stored. */
import assert from 'node:assert/strict'
import { isInCheck, PATIENCE, until } from '@elysia-microservices/test-support'
import { ConnectionError, OptionError, TimeoutError } from '@elysia-microservices/transport'
import type { UntypedStoringClient } from 'elysia-microservices/client'
import { type CaseOf, casesOfRestarts } from '../needs.ts'
import type { Scene } from './scene.ts'

/** How many events are stored while a server is killed again and again. */
const MANY = isInCheck ? 600 : 3_000

export function losses({ under, engine, fresh, newClient, serve, cleanUp }: Scene, caseOf: CaseOf): void {
  const caseOfRestart = casesOfRestarts(under, caseOf)

  caseOf(
    'lets its service stop, and its client close, while there is no connection',
    ['server'],
    async () => {
      const pattern = fresh()
      const link = await engine().detour()
      cleanUp(() => link.stop())
      const { port } = link
      const service = await serve(pattern, () => {}, { ordered: true }, { port })
      const client = newClient(undefined, { port })
      await client.publish(pattern, 1)
      const isLost = lossOf(client)
      await link.stop()
      await until('It is noticed', isLost)
      await service.stop()
      await client.close()
    }
  )

  caseOfRestart(
    'is stored in order, many at a time, also while the server is killed',
    ['server', 'once'],
    async () => {
      const pattern = fresh()
      const seen: number[] = []
      await serve(pattern, ({ data }) => void seen.push(data as number), {
        concurrency: 64,
        ordered: true
      })
      const client = newClient(PATIENCE)
      await client.connect()
      const all: Promise<unknown>[] = []
      for (let n = 0; n < MANY; n++) {
        all.push(client.publish(pattern, n, { key: 'k' }))
        if (n % (MANY / 3) === MANY / 6) {
          await engine().stop()
          await engine().start()
        }
      }
      await Promise.all(all)
      await until('All are handled', () => new Set(seen).size === MANY)
      const firsts = [...new Set(seen)]
      assert.deepEqual(firsts, [...firsts.keys()])
    }
  )

  caseOfRestart('that is given up, or too late, says so', ['server'], async () => {
    const pattern = fresh()
    // An engine without a log stores events only for groups that exist.
    await serve(pattern, () => {})
    const client = newClient()
    const aborter = new AbortController()
    aborter.abort()
    await assert.rejects(client.publish(pattern, 1, { signal: aborter.signal }), {
      code: 'CANCELED',
      mayHaveRun: false
    })
    await assert.rejects(client.publish('a.*', 1), OptionError)
    await assert.rejects(client.publish(pattern, 1, { id: '' }), /options\.id/)
    await client.publish(pattern, 1)
    const isLost = lossOf(client)
    await engine().stop()
    await until('It is noticed', isLost)
    await assert.rejects(client.publish(pattern, 2, { timeout: 200 }), (error: Error) => {
      assert.ok(error instanceof TimeoutError)
      assert.equal(error.mayHaveRun, false)
      return true
    })
    const late = client.publish(pattern, 3, { timeout: PATIENCE })
    await engine().start()
    assert.equal((await late).duplicate, false)
    const pending = assert.rejects(client.publish(pattern, 4), ConnectionError)
    await client.close()
    await pending
    await assert.rejects(client.publish(pattern, 5), ConnectionError)
  })
}

/** Returns whether the client has told that a connection is lost, from now on. */
function lossOf(client: UntypedStoringClient): () => boolean {
  let isLost = false
  client.onStatus(({ type }) => {
    isLost ||= type === 'disconnected'
  })
  return () => isLost
}

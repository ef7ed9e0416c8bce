/** The driver over redis-server keeps what its interface promises; the fake of it passes the same cases. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, describe, it } from 'node:test'
import {
  isMissing,
  keepsIn,
  pause,
  RedisServerProcess,
  redisMissing
} from '@elysia-microservices/test-support'
import { Redis } from 'ioredis'
import type { Reader } from '../driver.ts'
import { Opened } from '../testing/cases-frame.ts'
import { driverCases } from '../testing/driver-cases.ts'
import { idOf, pausedOf, streamOf } from '../words/keys.ts'
import { ioredis } from './ioredis.ts'
import { IoredisStore } from './ioredis-store.ts'

let server: RedisServerProcess | undefined
let folder: string | undefined
after(async () => {
  await server?.stop()
  if (folder !== undefined) await rm(folder, { recursive: true })
})

async function open() {
  folder ??= await mkdtemp(join(tmpdir(), 'redis-'))
  server ??= await RedisServerProcess.start(...keepsIn(folder))
  const { url } = server
  return {
    driver: ioredis,
    url,
    async restart() {
      await server?.stop()
      await server?.start()
    },
    // A timer may end a moment before the clock of another process says so.
    pass: (milliseconds: number) => pause(milliseconds + 20)
  }
}

if (!isMissing('the driver of Redis', redisMissing())) {
  driverCases('redis-server', open)

  describe('a store of redis-server', () => {
    const opened = new Opened(open)
    const clients: Redis[] = []
    let count = 0
    afterEach(() => {
      opened.close()
      for (const client of clients.splice(0)) client.disconnect()
    })

    /** A stream with a group, and a client of the same server. */
    async function stored() {
      const at = await opened.server()
      const [{ store }] = await opened.connect(at)
      const direct = new Redis(at.url)
      clients.push(direct)
      const pattern = `real${++count}.happened`
      const stream = streamOf(pattern)
      await store.ensure(pattern, pattern)
      await store.join(stream, 'g', '0-0')
      const reader: Reader = { stream, group: 'g', process: 'one', ackWait: 10_000 }
      const batchOf = (...ids: string[]) => ({
        pattern,
        events: ids.map((id) => ({ id, packet: '{}', headers: undefined })),
        known: ids.map((id) => idOf(pattern, id)),
        ...{ settled: [], duplicateWindow: 60_000, maxAge: 0, ending: '', copies: 0 }
      })
      return { store, direct, pattern, stream, reader, batchOf }
    }

    it('tells the facts that decide whether it keeps events', async () => {
      const { store, direct } = await stored()
      const { version, maxmemoryPolicy, hasAppendOnlyFile } = await store.about()
      assert.match(version ?? '', /^\d+\.\d+/)
      assert.deepEqual([maxmemoryPolicy, hasAppendOnlyFile], ['noeviction', true])
      await direct.config('SET', 'appendonly', 'no')
      assert.equal((await store.about()).hasAppendOnlyFile, false)
      await direct.config('SET', 'appendonly', 'yes')
    })

    it('counts a delay by its own clock, to the millisecond', async () => {
      const { store, pattern, batchOf } = await stored()
      for (let n = 0; n < 20; n++) {
        const events = [{ id: `${n}`, packet: '{}', headers: undefined, time: '+1000' as const }]
        const before = await store.time()
        await store.plan({ ...batchOf(`${n}`), events })
        const [{ due } = { due: 0 }] = await store.awaited(pattern, undefined, 1)
        assert.ok(before <= due - 1_000 && due - 1_000 <= (await store.time()))
        await store.cancel(pattern, `${n}`)
      }
    })

    it('publishes no second event if nobody has heard the first, unless subscribers may be elsewhere', async () => {
      const { store, direct, batchOf } = await stored()
      const published = async () => {
        const [, calls] = /cmdstat_publish:calls=(\d+)/.exec(await direct.info('commandstats')) ?? []
        await direct.config('RESETSTAT')
        return Number(calls ?? 0)
      }
      await published()
      const spread = new IoredisStore({ commands: direct, storing: direct, isCluster: true })
      await store.append({ ...batchOf('a', 'b', 'c'), ending: '}' })
      assert.equal(await published(), 1)
      await spread.append({ ...batchOf('d', 'e', 'f'), ending: '}' })
      assert.equal(await published(), 3)
      await spread.append(batchOf('g', 'h'))
      assert.equal(await published(), 0)
    })

    it('that is full stores an event whose time has come, and no new one', async () => {
      const { store, direct, pattern, stream, reader, batchOf } = await stored()
      const events = [{ id: 'a', packet: '{}', headers: undefined, time: '+1' as const }]
      assert.equal((await store.plan({ ...batchOf('a'), events })).copies, 0)
      await pause(20)
      await direct.config('SET', 'maxmemory', '1')
      try {
        const taken = await store.take(reader, 1, false)
        assert.ok(taken.state === 'ok' && taken.refusal === '' && taken.entries.length === 1)
        await assert.rejects(store.append(batchOf('b')), /OOM/)
      } finally {
        await direct.config('SET', 'maxmemory', '0')
      }
      const left = await direct.pttl(idOf(pattern, 'a'))
      assert.ok(left > 50_000 && left <= 60_000, 'its id is remembered from now on')
      assert.equal(await store.length(stream), 1)
    })

    it('keeps an event whose time has come and that is refused, says why, and tries again in a second', async () => {
      const { store, direct, pattern, stream, reader, batchOf } = await stored()
      const events = ['a', 'b'].map((id) => ({ id, packet: '{}', headers: undefined, time: '+1' as const }))
      await store.plan({ ...batchOf('a', 'b'), events })
      await pause(20)
      await direct.call('XSETID', stream, '18446744073709551615-18446744073709551615')
      for (let time = 0; time < 2; time++) {
        const answer = await store.take(reader, 1, false)
        assert.ok(answer.state === 'ok' && /exhausted/.test(answer.refusal), JSON.stringify(answer))
        assert.equal(answer.standing.more, 1_000)
      }
      assert.deepEqual(
        (await store.awaited(pattern, undefined, 9)).map(({ id }) => id),
        ['a', 'b']
      )
    })

    it('does not look for the first event that is not done among many that pause', async () => {
      const { store, stream, reader, batchOf } = await stored()
      await store.append(batchOf(...Array.from({ length: 101 }, (_, n) => String(n))))
      const taken = await store.take(reader, 101, false)
      const places = taken.state === 'ok' ? taken.entries.map(([place]) => place) : []
      const back = places.map((place) => ({ place, delay: 60_000, attempt: 2 }))
      await store.giveBack(reader, back.slice(1))
      const firstOf = async () => {
        const answer = await store.take(reader, 1, false)
        return answer.state === 'ok' ? answer.standing.first : answer.state
      }
      assert.equal(await firstOf(), places[0])
      await store.giveBack(reader, back.slice(0, 1))
      assert.equal(await firstOf(), '')
      await store.acknowledge(reader, places, false)
      assert.equal((await store.undone(stream, 'g', '0-0', '0-0', 200)).length, 101)
    })

    it('fails where something else has the key', async () => {
      const { store } = await stored()
      await store.pause('taken', true)
      await assert.rejects(store.join(pausedOf('taken'), 'g', '0-0'), /WRONGTYPE/)
      await store.pause('taken', false)
    })
  })
}

/** The commands of the store to ioredis, and their answers; `ioredis.test.ts` runs it over redis-server. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Redis } from 'ioredis'
import { refused } from '../testing/over-store.ts'
import { IoredisStore } from './ioredis-store.ts'

/** A store over clients that answer by the name of the command, or fail. */
function storeOver(answers: Readonly<Record<string, unknown>>, isCluster = false) {
  const asked: unknown[][] = []
  const client = (who: string) =>
    new Proxy({} as Redis, {
      get:
        (_, name) =>
        async (...args: unknown[]) => {
          asked.push([who, name, ...args])
          const answer = answers[String(name)]
          if (answer instanceof Error) throw answer
          return answer
        }
    })
  const store = new IoredisStore({ commands: client('commands'), storing: client('storing'), isCluster })
  const names = () => asked.map(([who, name]) => `${who} ${String(name)}`)
  return { store, asked, names }
}

const BATCH = {
  pattern: 'p',
  events: [{ id: 'a', packet: '{}', headers: undefined }],
  known: ['k'],
  ...{ settled: [], duplicateWindow: 5, maxAge: 6, ending: 'e', copies: 0 }
}

describe('a store over ioredis', () => {
  it('stores over the connection for that, and waits there for the replicas, if there must be some', async () => {
    const answers = { evalsha: [['1-0', 0]], wait: 1 }
    const { store, names, asked } = storeOver(answers)
    assert.deepEqual(await store.append(BATCH), { stored: [['1-0', 0]], copies: 0 })
    assert.deepEqual(names(), ['storing evalsha'])
    const [, , , count, ...rest] = asked[0] as unknown[]
    assert.deepEqual(
      [count, ...rest],
      [3, '_elysia:{events}:s:p', '_elysia:{events}:w:s:p', 'k', 5, 6, 'p', 'e', 0, 1, 1, 2, 'a', '{}']
    )
    assert.equal((await store.append({ ...BATCH, copies: 2 })).copies, 1)
    assert.deepEqual(asked.at(-1), ['storing', 'wait', 2, 1_000])
    const events = [{ ...BATCH.events[0], time: '+5' as const }] as never
    assert.equal((await store.plan({ ...BATCH, events })).copies, 0)
    assert.equal((await store.plan({ ...BATCH, events, copies: 2 })).copies, 1)
    assert.deepEqual(names().slice(3), ['storing evalsha', 'storing evalsha', 'storing wait'])
    assert.deepEqual(asked.at(-1), ['storing', 'wait', 2, 1_000])
    const spread = storeOver(answers, true)
    await spread.store.append(BATCH)
    assert.equal(spread.asked[0]?.[11], 1)
  })

  it('knows that there is no stream, and lets the server learn a script that it has forgotten', async () => {
    const none = storeOver({ evalsha: null })
    assert.equal((await none.store.append(BATCH)).stored, undefined)
    const forgotten = storeOver({ evalsha: refused('NOSCRIPT No matching script.'), eval: 1, script: 'sha' })
    await assert.rejects(forgotten.store.append(BATCH), /NOSCRIPT/)
    assert.deepEqual(forgotten.names(), ['storing evalsha', 'commands script'])
    await forgotten.store.trim('s', 5)
    assert.deepEqual(forgotten.names().slice(2), ['commands evalsha', 'commands eval'])
    const full = storeOver({ evalsha: refused('OOM command not allowed') })
    await assert.rejects(full.store.append(BATCH), /OOM/)
    await assert.rejects(full.store.trim('s', 5), /OOM/)
    assert.deepEqual(full.names(), ['storing evalsha', 'commands evalsha'])
  })

  it('reads the facts about a server as far as it tells them', async () => {
    const about = (info: string) => storeOver({ info }).store.about()
    assert.deepEqual(
      await about('redis_version:7.4.1\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:1\r\n'),
      { version: '7.4.1', maxmemoryPolicy: 'allkeys-lru', hasAppendOnlyFile: true }
    )
    assert.equal((await about('x_aof_enabled:1\r\naof_enabled:0\r\n')).hasAppendOnlyFile, false)
    assert.deepEqual(await about(''), {
      version: undefined,
      maxmemoryPolicy: undefined,
      hasAppendOnlyFile: undefined
    })
    assert.equal(await storeOver({ time: ['1700000000', '123999'] }).store.time(), 1_700_000_000_123)
  })

  it('reads how far groups are, and does not guess what the server does not know', async () => {
    const groups = [
      ['name', 'g', 'pending', 2, 'lag', 3, 'entries-read', 4],
      ['name', 'h', 'pending', 0, 'lag', null, 'entries-read', null]
    ]
    assert.deepEqual(await storeOver({ call: groups }).store.groups('s'), [
      { name: 'g', lag: 3, pending: 2 },
      { name: 'h', lag: undefined, pending: 0 }
    ])
    const missed = async (group: string, length: number) => {
      const answers = [['length', length, 'entries-added', 10], groups]
      const store = new IoredisStore({
        commands: { call: async () => answers.shift() } as unknown as Redis,
        storing: {} as Redis,
        isCluster: false
      })
      return store.missed('s', group)
    }
    assert.deepEqual(
      [await missed('g', 1), await missed('g', 8), await missed('h', 1), await missed('none', 1)],
      [5, 0, 0, 0]
    )
  })
})

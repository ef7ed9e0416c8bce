/**
 * Load without faults, then with two relays, then with relays that are killed: no committed event is skipped, and
 * events of one key stay in the order of their commits. The test without faults comes first, because a relay that
 * restarts finds events which a running relay has skipped. `OUTBOX_EVENTS=1000000` runs the long form. On a push,
 * `torture.slow.test.ts` kills relays.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import pg from 'pg'
import { migrate } from './migrate.ts'
import { Load } from './testing/load.ts'
import type { Told } from './testing/open-transaction.ts'
import { PostgresServer } from './testing/postgres-server.ts'
import { Relays } from './testing/relays.ts'
import { Sink } from './testing/sink.ts'
import { until } from './testing/until.ts'

const EVENTS = Number(process.env['OUTBOX_EVENTS'] ?? 1_000)
process.env['RELAY_BATCH'] = '500'

describe('an outbox under load', () => {
  let server: PostgresServer
  let pool: pg.Pool
  let url: string
  let sink: Sink
  before(async () => {
    server = await PostgresServer.start('-c', 'track_commit_timestamp=on')
  })
  after(() => server.stop())
  beforeEach(async () => {
    url = await server.database()
    pool = new pg.Pool({ connectionString: url, max: 30 })
    pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}))
    await migrate(pool)
    sink = await Sink.start()
  })
  afterEach(async () => {
    for (const relays of Relays.all) await relays.kill()
    sink.stop()
    await pool.end()
  })

  const load = (long: number, isEnough = () => true) =>
    new Load(pool, { events: EVENTS, isEnough, writers: 12, keys: 200, long, seed: EVENTS })

  const living = [
    [1, 500, 'one relay that lives, with transactions that last long'],
    [1, 0, 'one relay that lives'],
    [2, 500, 'two relays that live']
  ] as const
  for (const [count, long, title] of living)
    it(`is published whole, once and in order by ${title}`, async () => {
      const relays = new Relays('pg', url, sink)
      for (let n = 0; n < count; n++) await relays.keep()
      const writing = load(long)
      const begun = performance.now()
      await writing.run()
      await allOf(writing.committed)
      report(title, writing, begun)
      assert.equal(sink.events.length, writing.committed.length, 'published more than once')
      await inOrder(writing)
      assert.equal(relays.crashes, 0)
    })

  it('is published whole and in order by two relays, of which one is killed again and again', async () => {
    let kills = 0
    const writing = load(200, () => kills > 2)
    const begun = performance.now()
    let isOver = false
    const relays = new Relays('pg', url, sink)
    const killing = (async () => {
      while (!isOver) {
        const { child, ended } = relays.start()
        const before = sink.events.length
        await until(() => isOver || sink.events.length > before + EVENTS / 20)
        if (isOver) return
        child.kill('SIGKILL')
        await ended
        kills++
      }
    })()
    const lasting = new Relays('pg', url, sink)
    await lasting.keep()
    await writing.run()
    await allOf(writing.committed)
    isOver = true
    await killing
    report(`two relays, ${kills} kills`, writing, begun)
    await inOrder(writing)
  })

  /** Waits until as many different events have arrived as were committed, or until no more arrive. */
  async function allOf(committed: readonly Told[]): Promise<void> {
    let seen = 0
    const ids = new Set<string>()
    const readAll = () => {
      for (; seen < sink.events.length; seen++) ids.add(sink.events[seen]!.id)
    }
    let before = -1
    await until(async () => {
      readAll()
      if (ids.size >= committed.length) return true
      if (seen !== before) {
        before = seen
        // A relay looks for events about ten times in this time.
        await new Promise((resolve) => setTimeout(resolve, 1_000))
        return false
      }
      readAll()
      return seen === before
    })
    const missing = committed.filter(({ id }) => !ids.has(id))
    assert.equal(missing.length, 0, `passed over: ${missing.length} of ${committed.length}`)
    assert.equal(ids.size, committed.length, 'published, and not committed')
  }

  async function inOrder(writing: Load): Promise<void> {
    const wanted = byKey(await writing.inOrder())
    const known = new Set<string>()
    const first = sink.events.filter(({ id }) => !known.has(id) && known.add(id))
    const got = byKey(first)
    for (const [key, ids] of wanted)
      if (key !== undefined) assert.deepEqual(got.get(key), ids, `the order of ${key}`)
  }

  function byKey(events: readonly { readonly id: string; readonly key?: string | undefined }[]) {
    const keys = new Map<string | undefined, string[]>()
    for (const { id, key } of events) {
      const ids = keys.get(key)
      if (ids === undefined) keys.set(key, [id])
      else ids.push(id)
    }
    return keys
  }

  function report(title: string, { committed, rolledBack, mostOpen }: Load, begun: number): void {
    const seconds = (performance.now() - begun) / 1_000
    const duplicates = sink.events.length - committed.length
    console.log(
      `${title}: ${committed.length} events, ${rolledBack} transactions rolled back, ${mostOpen} open at a time, ` +
        `${duplicates} duplicates, 0 passed over, ${Math.round(committed.length / seconds)} per second`
    )
  }
})

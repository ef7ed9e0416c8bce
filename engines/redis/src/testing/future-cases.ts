/** The promises about events that wait for their time. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { EntryBatch, PlannedBatch, Reader, Take, Time } from '../driver.ts'
import { idOf, streamOf, wakeOf } from '../words/keys.ts'
import { Opened, type ServerForCases } from './cases-frame.ts'

/** Milliseconds after which events of the cases are due. */
const SOON = 200
const HOUR = 3_600_000

/** Declares the cases. @param title the server's name @param open starts a server, or returns one that runs */
export function futureCases(title: string, open: () => Promise<ServerForCases>): void {
  describe(`events that wait at Redis over ${title}`, () => {
    const opened = new Opened(open)
    let count = 0
    afterEach(opened.close)

    async function waiting() {
      const server = await opened.server()
      const [connection, seen] = await opened.connect(server)
      const { store } = connection
      const pattern = `future${++count}.happened`
      const stream = streamOf(pattern)
      await store.ensure(pattern, `name ${pattern}`)
      await store.join(stream, 'g', '0-0')
      const reader: Reader = { stream, group: 'g', process: 'one', ackWait: 10_000 }
      const batchOf = (times: Readonly<Record<string, Time>>): PlannedBatch => ({
        pattern,
        events: Object.entries(times).map(([id, time]) => ({
          id,
          time,
          packet: `{"data":"${id} ä"}`,
          key: 'k',
          headers: { x: '1' }
        })),
        known: Object.keys(times).map((id) => idOf(pattern, id)),
        duplicateWindow: 60_000,
        maxAge: 0,
        copies: 0
      })
      const plan = async (times: Readonly<Record<string, Time>>) => (await store.plan(batchOf(times))).stored
      const take = async () => (await store.take(reader, 10, false)) as Extract<Take, { state: 'ok' }>
      const ids = async () => (await take()).entries.map(([, fields]) => fields[3])
      return { server, connection, seen, store, pattern, stream, batchOf, plan, take, ids }
    }

    it('are stored when they are due, with their fields, and not before', async () => {
      const { server, store, pattern, plan, take } = await waiting()
      const now = await store.time()
      assert.deepEqual(await plan({ a: `+${SOON}`, b: `${now + HOUR}` }), [
        ['', 0],
        ['', 0]
      ])
      const early = await take()
      assert.deepEqual([early.entries, early.refusal], [[], ''])
      assert.ok(early.standing.more > 0 && early.standing.more <= SOON)
      await server.pass(SOON)
      const { entries, standing } = await take()
      const fields = ['packet', '{"data":"a ä"}', 'id', 'a', 'key', 'k', 'headers', '{"x":"1"}']
      assert.deepEqual(
        entries.map(([, given]) => given),
        [fields]
      )
      assert.ok(Number(entries[0]?.[0].split('-')[0]) >= now + SOON)
      assert.ok(standing.more > 0 && standing.more <= HOUR)
      await store.cancel(pattern, 'b')
      assert.equal((await take()).standing.more, -1)
    })

    it('are stored in the order of their times, and those of one time in the order of their ids', async () => {
      const { server, store, plan, ids } = await waiting()
      const soon = (await store.time()) + SOON
      await plan({ c: `${soon}`, b: `${soon}`, a: `${soon + 1}` })
      await server.pass(2 * SOON)
      assert.deepEqual(await ids(), ['b', 'c', 'a'])
    })

    it('are not kept if their time has passed', async () => {
      const { store, plan, ids } = await waiting()
      const past = (await store.time()) - 1
      assert.deepEqual(await plan({ a: `${past}`, b: `${past + HOUR}` }), [
        ['', 2],
        ['', 0]
      ])
      assert.deepEqual(await plan({ a: `${past + HOUR}` }), [['', 0]])
      assert.deepEqual(await ids(), [])
    })

    it('keep others with their ids out, also when they are stored; a cancelled one does not', async () => {
      const { server, store, pattern, batchOf, plan, ids } = await waiting()
      const batch: EntryBatch = { ...batchOf({ a: '+0' }), settled: [], ending: '' }
      assert.deepEqual((await store.append({ ...batch, pattern: 'case.without' })).stored, undefined)
      await plan({ a: `+${SOON}` })
      assert.deepEqual(await plan({ a: '+0' }), [['', 1]])
      assert.deepEqual((await store.append(batch)).stored, [['', 1]])
      await server.pass(SOON)
      assert.deepEqual(await ids(), ['a'])
      const [[position, wasThere] = ['', 0]] = (await plan({ a: '+0' })) ?? []
      assert.ok(position.includes('-') && wasThere === 1)
      assert.deepEqual((await store.append(batch)).stored, [[position, 1]])
      await plan({ b: `+${HOUR}` })
      assert.deepEqual([await store.cancel(pattern, 'b'), await store.cancel(pattern, 'b')], [true, false])
      assert.equal(await store.cancel(pattern, 'a'), false)
      assert.deepEqual(await plan({ b: '+0' }), [['', 0]])
    })

    it('wake who waits, if they are due before all others, or are made due by hand', async () => {
      const { connection, seen, store, pattern, stream, plan, ids } = await waiting()
      await connection.subscribe(wakeOf(stream))
      await ids()
      await plan({ b: `+${HOUR}` })
      await seen.until(`${wakeOf(stream)} `)
      await ids()
      await plan({ c: `+${2 * HOUR}` })
      await connection.ping()
      assert.equal(seen.said.length, 1)
      await plan({ a: `+${HOUR / 2}` })
      await seen.until(`${wakeOf(stream)} `, 2)
      await ids()
      assert.equal(await store.hasten(pattern, 'nobody'), false)
      assert.equal(await store.hasten(pattern, 'c'), true)
      await seen.until(`${wakeOf(stream)} `, 3)
      assert.deepEqual(await ids(), ['c'])
      assert.equal(await store.hasten(pattern, 'c'), false)
      await plan({ d: '+0' })
      await seen.until(`${wakeOf(stream)} `, 4)
      assert.deepEqual(await ids(), ['d'])
      for (const id of ['a', 'b']) await store.cancel(pattern, id)
    })

    it('are not kept without a stream, and are stored by the next one, if nobody looks', async () => {
      const { server, store, stream, batchOf, plan } = await waiting()
      assert.equal((await store.plan({ ...batchOf({ a: '+0' }), pattern: 'case.without' })).stored, undefined)
      await plan({ a: `+${SOON}` })
      await server.pass(SOON)
      assert.equal(await store.length(stream), 0)
      await plan({ b: `+${HOUR}` })
      assert.equal(await store.length(stream), 1)
    })

    it('are listed in pages, the soonest first, also behind one that has gone', async () => {
      const { store, pattern, plan } = await waiting()
      const due = (await store.time()) + HOUR
      await plan({ d: `${due}`, a: `${due + 1}`, b: `${due}`, é: `${due}`, c: `${due}` })
      const all = await store.awaited(pattern, undefined, 10)
      assert.deepEqual(
        all.map(({ id, due: at }) => [id, at - due]),
        [
          ['b', 0],
          ['c', 0],
          ['d', 0],
          ['é', 0],
          ['a', 1]
        ]
      )
      assert.deepEqual(all[0]?.fields.slice(0, 4), ['packet', '{"data":"b ä"}', 'id', 'b'])
      const behind = async (at: number) => (await store.awaited(pattern, all[at], 2)).map(({ id }) => id)
      assert.deepEqual(
        (await store.awaited(pattern, undefined, 2)).map(({ id }) => id),
        ['b', 'c']
      )
      assert.deepEqual(await behind(1), ['d', 'é'])
      await store.cancel(pattern, 'c')
      assert.deepEqual(await behind(1), ['d', 'é'])
      assert.deepEqual(await behind(3), ['a'])
      for (const { id } of all) await store.cancel(pattern, id)
      assert.deepEqual(await behind(4), [])
    })
  })
}

/** The promises about streams, groups and dead letters. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import {
  type DriverStore,
  type EntryBatch,
  isUnprepared,
  type Reader,
  type Take,
  type Undone
} from '../driver.ts'
import { againOf, comparePositions, idOf, streamOf, turnOf, wakeOf } from '../words/keys.ts'
import { Opened, type ServerForCases } from './cases-frame.ts'

/** Milliseconds of a lease in the cases. */
const LEASE = 200

type Ok = Extract<Take, { state: 'ok' }>

/** Declares the cases. @param title the server's name @param open starts a server, or returns one that runs */
export function storeCases(title: string, open: () => Promise<ServerForCases>): void {
  describe(`a store of Redis over ${title}`, () => {
    const opened = new Opened(open)
    let count = 0
    afterEach(opened.close)

    /** A stream with two processes of a group. */
    async function stored({ isOrdered = false } = {}) {
      const server = await opened.server()
      const [connection, seen] = await opened.connect(server)
      const { store } = connection
      const pattern = `case${++count}.happened`
      const stream = streamOf(pattern)
      await store.ensure(pattern, `name ${pattern}`)
      await store.join(stream, 'g', '0-0')
      const turn = isOrdered ? turnOf('g', pattern) : undefined
      const readerOf = (process: string): Reader => ({ stream, group: 'g', process, ackWait: LEASE, turn })
      return {
        server,
        connection,
        seen,
        store,
        pattern,
        stream,
        one: readerOf('one'),
        other: readerOf('other')
      }
    }

    const batchOf = (
      pattern: string,
      ids: readonly string[],
      more: Partial<EntryBatch> = {}
    ): EntryBatch => ({
      pattern,
      events: ids.map((id) => ({ id, packet: `{"data":"${id}"}`, headers: undefined })),
      known: ids.map((id) => idOf(pattern, id)),
      settled: [],
      duplicateWindow: 60_000,
      maxAge: 0,
      ending: '',
      copies: 0,
      ...more
    })
    const append = async (store: DriverStore, pattern: string, ...ids: string[]) =>
      (await store.append(batchOf(pattern, ids))).stored?.map(([position]) => position) as string[]
    const take = async (store: DriverStore, reader: Reader, room = 10, isAll = false): Promise<Ok> => {
      const answer = await store.take(reader, room, isAll)
      assert.equal(answer.state, 'ok')
      return answer as Ok
    }
    const ids = ({ entries }: Pick<Ok, 'entries'>) => entries.map(([, fields]) => fields[3])
    const attempts = ({ entries }: Ok) => entries.map(([, , attempt]) => Number(attempt))

    it('stores nothing without a stream, and each id once; ids that are settled are forgotten', async () => {
      const { store, pattern } = await stored()
      assert.equal((await store.append(batchOf('case.without', ['a']))).stored, undefined)
      const [first] = await append(store, pattern, 'a')
      const again = await store.append(batchOf(pattern, ['a', 'b']))
      assert.deepEqual(again.stored?.[0], [first, 1])
      assert.equal(again.stored?.[1]?.[1], 0)
      const settled = [idOf(pattern, 'a')]
      await store.append(batchOf(pattern, ['c'], { settled }))
      assert.equal((await store.append(batchOf(pattern, ['a']))).stored?.[0]?.[1], 0)
      assert.deepEqual(ids(await take(store, { ...readerOf(pattern) })), ['a', 'b', 'c', 'a'])
    })

    it('gives events of one key consecutive positions, and remembers them together', async () => {
      const { store, pattern, one } = await stored()
      const known = [idOf(pattern, 'a')]
      const { stored: answer } = await store.append(batchOf(pattern, ['a', 'b', 'c'], { known }))
      const [position = ''] = answer?.[0] ?? []
      const { entries } = await take(store, one)
      const [time, number] = position.split('-')
      assert.deepEqual(
        entries.map(([place]) => place),
        [0, 1, 2].map((n) => `${time}-${Number(number) + n}`)
      )
      assert.deepEqual((await store.append(batchOf(pattern, ['a', 'b', 'c'], { known }))).stored, [
        [position, 1]
      ])
    })

    it('publishes what it stores, with headers and the ending, until nobody hears it', async () => {
      const { store, pattern, connection, seen, one } = await stored()
      await connection.subscribe(pattern)
      const [plain] = batchOf(pattern, ['a']).events
      const events = [plain, { id: 'b', packet: '{"data":"b"}', key: 'k', headers: { x: '1' } }] as const
      const known = ['a', 'b'].map((id) => idOf(pattern, id))
      await store.append({
        ...batchOf(pattern, []),
        events: events as EntryBatch['events'],
        known,
        ending: ',"e":1}'
      })
      await seen.until(`${pattern} {"data":"b","metadata":{"x":"1"},"e":1}`)
      assert.equal(seen.said[0], `${pattern} {"data":"a","e":1}`)
      const { entries } = await take(store, one)
      assert.deepEqual(entries[1]?.[1], [
        'packet',
        '{"data":"b"}',
        'id',
        'b',
        'key',
        'k',
        'headers',
        '{"x":"1"}'
      ])
    })

    it('announces a new stream, and keeps its name', async () => {
      const { store, connection, seen } = await stored()
      await connection.subscribe('_elysia:{events}:streams')
      const pattern = `case${++count}.named`
      assert.equal(await store.ensure(pattern, 'first'), 'first')
      assert.equal(await store.ensure(pattern, 'second'), 'first')
      assert.equal((await store.patterns())[pattern], 'first')
      await connection.ping()
      await seen.until(`_elysia:{events}:streams ${pattern}`)
      assert.equal(seen.said.length, 1)
      assert.deepEqual(
        [await store.last(streamOf(pattern)), await store.length(streamOf(pattern))],
        ['0-0', 0]
      )
      await assert.rejects(store.last(streamOf('case.nowhere')), {
        name: 'ReplyError',
        message: /no such key/
      })
    })

    it('takes the first batch of a connection that has stored events when the server was started again', async () => {
      const { server, store, pattern, seen } = await stored()
      await server.restart()
      await seen.until('restored')
      await store.append(batchOf(pattern, ['a']))
    })

    it('refuses the first batch of a connection that has stored nothing, and takes the next', async () => {
      const server = await opened.server()
      const [{ store }, seen] = await opened.connect(server)
      const pattern = `case${++count}.unprepared`
      await server.restart()
      await seen.until('restored')
      await assert.rejects(store.append(batchOf(pattern, ['a'])), (error: Error) => isUnprepared(error))
      await store.trim(streamOf(pattern), 0)
      assert.equal((await store.append(batchOf(pattern, ['a']))).stored, undefined)
    })

    it('keeps the record of a handler that is there', async () => {
      const { store, pattern } = await stored()
      const field = `g ${pattern}`
      assert.equal(await store.handler(field), null)
      assert.equal(await store.keepHandler(field, '1', true), true)
      assert.equal(await store.keepHandler(field, '2', true), false)
      assert.equal(await store.handler(field), '1')
      assert.equal(await store.keepHandler(field, '2', false), false)
      assert.equal(await store.handler(field), '2')
      assert.ok((await store.handlers()).includes(field))
    })

    // ── groups ───────────────────────────────────────────────────────────────────────────────────────────

    it('gives each event to one process, and wakes the one that waits', async () => {
      const { connection, seen, store, pattern, stream, one, other } = await stored()
      await connection.subscribe(wakeOf(stream))
      await append(store, pattern, 'a', 'b', 'c')
      assert.deepEqual(ids(await take(store, one, 2)), ['a', 'b'])
      const last = await take(store, other)
      assert.deepEqual([ids(last), last.standing.undone, last.standing.more], [['c'], 3, -1])
      await append(store, pattern, 'd')
      await seen.until(`${wakeOf(stream)} `)
      await append(store, pattern, 'e')
      await connection.ping()
      assert.equal(seen.said.length, 1)
      const { entries, isPaused } = await store.takeNew(one, 10)
      assert.deepEqual([ids({ entries: entries as never }), isPaused], [['d', 'e'], false])
    })

    it('says how far a group is: the first event that is not done, or the last one', async () => {
      const { store, pattern, stream, one } = await stored()
      const [a, b] = await append(store, pattern, 'a', 'b')
      assert.deepEqual(await store.groups(stream), [{ name: 'g', lag: 2, pending: 0 }])
      const { standing } = await take(store, one)
      assert.deepEqual([standing.done, standing.first, standing.undone], ['', a, 2])
      await store.acknowledge(one, [a as string], false)
      assert.equal((await take(store, one)).standing.first, b)
      await store.acknowledge(one, [b as string], false)
      const end = (await take(store, one)).standing
      assert.deepEqual([end.done, end.first, end.undone], [b, '', 0])
      assert.deepEqual(await store.groups(stream), [{ name: 'g', lag: 0, pending: 0 }])
      assert.equal(await store.last(stream), b)
      assert.equal(await store.missed(stream, 'g'), 0)
    })

    it('gives an event back for later, with its next attempt, and wakes who waits', async () => {
      const { server, connection, seen, store, pattern, stream, one, other } = await stored()
      await connection.subscribe(wakeOf(stream))
      const [a = '', b = ''] = await append(store, pattern, 'a', 'b')
      await take(store, one)
      const back = [
        { place: a, delay: LEASE, attempt: 2 },
        { place: b, delay: 0, attempt: 1 }
      ]
      await store.giveBack(other, back)
      await seen.until(`${wakeOf(stream)} `)
      assert.deepEqual(ids(await take(store, other)), [], 'they belong to the other process')
      await store.giveBack(one, back)
      const early = await take(store, other)
      assert.deepEqual([ids(early), attempts(early)], [['b'], [1]])
      assert.ok(early.standing.more > 0 && early.standing.more <= LEASE)
      assert.equal(early.standing.first, a)
      await server.pass(LEASE)
      const due = await take(store, other)
      assert.deepEqual([ids(due), attempts(due)], [['a'], [2]])
    })

    it('gives the events of a silent process to another one, and not those that are kept', async () => {
      const { server, store, pattern, one, other } = await stored()
      const [, b = ''] = await append(store, pattern, 'a', 'b')
      await take(store, one)
      assert.deepEqual(ids(await take(store, other, 10, true)), [])
      await server.pass(LEASE)
      assert.deepEqual(await store.keep(one, [b]), [])
      const taken = await take(store, other, 10, true)
      assert.deepEqual([ids(taken), attempts(taken)], [['a'], [2]])
      assert.deepEqual(await store.keep(one, [taken.entries[0]?.[0] as string, b]), [taken.entries[0]?.[0]])
    })

    it('gives an ordered group to one process at a time, with all events that are not done', async () => {
      const { server, store, pattern, stream, connection, seen, one, other } = await stored({
        isOrdered: true
      })
      await connection.subscribe(wakeOf(stream))
      const [a = '', b = ''] = await append(store, pattern, 'a', 'b')
      assert.equal((await take(store, one)).isNew, true)
      await store.giveBack(one, [{ place: b, delay: 60_000, attempt: 2 }])
      const answer = await store.take(other, 10, false)
      assert.equal(answer.state, 'other')
      assert.ok(answer.state === 'other' && answer.standing.more > 0 && answer.standing.more <= LEASE)
      assert.ok(answer.state === 'other' && answer.standing.undone === 2 && answer.standing.first === a)
      const all = await take(store, one, 0, true)
      assert.deepEqual([ids(all).toSorted(), all.isNew], [['a', 'b'], false])
      assert.deepEqual(attempts(all).toSorted(), [1, 2], 'they are its own')
      await server.pass(LEASE)
      const next = await take(store, other)
      assert.deepEqual([next.isNew, ids(next).toSorted()], [true, ['a', 'b']])
      const counts = Object.fromEntries(next.entries.map(([place, , attempt]) => [place, Number(attempt)]))
      assert.deepEqual(counts, { [a]: 2, [b]: 3 }, 'another process had them')
      await store.acknowledge(other, [a, b], false)
      await store.leave(other)
      await seen.until(`${wakeOf(stream)} `)
      assert.equal((await take(store, one)).isNew, true)
    })

    it('gives nothing to a paused group', async () => {
      const { store, pattern, one } = await stored()
      await append(store, pattern, 'a')
      const group = `paused${count}`
      const paused = { ...one, group }
      await store.join(one.stream, group, '0-0')
      await store.pause(group, true)
      assert.deepEqual(await store.take(paused, 10, false), { state: 'paused' })
      assert.equal((await store.takeNew(paused, 10)).isPaused, true)
      await store.pause(group, false)
      assert.equal((await take(store, paused)).standing.undone, 1)
    })

    it('tells that a group or its stream does not exist, and who has asked for events', async () => {
      const { store, pattern, stream, one, other } = await stored()
      await store.present('one', 'g', [stream])
      assert.equal((await store.idle(stream, 'g')).length, 1)
      await append(store, pattern, 'a')
      await take(store, other)
      await store.leave(one)
      await store.leave(other)
      assert.equal((await store.idle(stream, 'g')).length, 1, 'a process that has events stays')
      for (const gone of [
        store.present('one', 'nobody', [stream]),
        store.present('one', 'g', [stream, streamOf('case.nowhere')]),
        store.take({ ...one, group: 'nobody' }, 1, false),
        store.giveBack({ ...one, group: 'nobody' }, [{ place: '1-0', delay: 0, attempt: 1 }])
      ])
        await assert.rejects(gone, { name: 'ReplyError', message: /NOGROUP/ })
      assert.equal(await store.join(stream, 'g', '0-0'), false)
      assert.equal(await store.join(stream, 'more', '0-0'), true)
    })

    it('deletes no event that is to be kept', async () => {
      const { server, store, pattern, stream, one } = await stored()
      await append(store, pattern, 'a')
      await server.pass(LEASE)
      await store.trim(stream, 0)
      assert.equal((await store.groups(stream))[0]?.lag, 1)
      assert.ok((await store.time()) > 0)
      assert.deepEqual(ids(await take(store, one)), ['a'])
    })

    it('extends the turn of a process that asks, or says that it is there, and of no other', async () => {
      const { store, one, other } = await stored({ isOrdered: true })
      const left = async () => {
        const answer = await store.take(other, 1, false)
        assert.equal(answer.state, 'other')
        return answer.state === 'other' ? answer.standing.more : 0
      }
      const longer = (reader: Reader, ackWait: number) => ({ ...reader, ackWait })
      await take(store, one)
      assert.ok((await left()) <= LEASE)
      await store.keep(longer(other, 60_000), [])
      await store.leave(other)
      assert.ok((await left()) <= LEASE)
      assert.equal((await take(store, longer(one, 60_000))).isNew, false)
      assert.ok((await left()) > 2 * LEASE)
      await store.keep(one, [])
      assert.ok((await left()) <= LEASE)
      await store.keep(longer(one, 60_000), [])
      assert.ok((await left()) > 2 * LEASE)
    })

    it('says which event is the first that is not done, in the order of the stream, and when the next is due', async () => {
      const { store, pattern, one } = await stored()
      const many = Array.from({ length: 12 }, (_, n) => `e${n}`)
      await store.append(batchOf(pattern, many, { known: [idOf(pattern, 'e0')] }))
      const places = (await take(store, one, 12)).entries.map(([place]) => place)
      const standing = async () => (await store.take(one, 0, false)) as Ok
      const firstIs = async (at: number) =>
        assert.equal(places.indexOf((await standing()).standing.first), at)
      await store.acknowledge(one, [...places.slice(0, 2), ...places.slice(3, 10)], false)
      await store.giveBack(one, [{ place: places[10] as string, delay: 50_000, attempt: 2 }])
      await store.giveBack(one, [{ place: places[2] as string, delay: 60_000, attempt: 2 }])
      await firstIs(2)
      await store.acknowledge(one, [places[11] as string], false)
      await firstIs(2)
      const { undone, more } = (await standing()).standing
      assert.ok(undone === 2 && more > 40_000 && more <= 50_000, `${undone} ${more}`)
      const [late = ''] = await append(store, pattern, 'late')
      await take(store, one, 1)
      await store.giveBack(one, [{ place: late, delay: 0, attempt: 2 }])
      await firstIs(2)
      assert.deepEqual([(await standing()).standing.more, (await standing()).standing.undone], [0, 3])
    })

    it('takes no more than there is room for, of those that were left and those that are due', async () => {
      const { server, store, pattern, one, other } = await stored()
      const [a = '', b = '', c = ''] = await append(store, pattern, 'a', 'b', 'c')
      await take(store, one)
      await store.giveBack(
        one,
        [a, b].map((place) => ({ place, delay: 0, attempt: 2 }))
      )
      await append(store, pattern, 'd')
      assert.equal((await take(store, other, 1)).entries.length, 1)
      await server.pass(LEASE)
      assert.deepEqual(ids(await take(store, other, 1, true)).length, 1)
      const rest = await take(store, one, 2, true)
      assert.equal(rest.entries.length, 2)
      const all = await store.undone(one.stream, 'g', '0-0', '0-0', 9)
      assert.deepEqual(all.map(({ place }) => place).slice(0, 3), [a, b, c])
    })

    it('forgets an event that was deleted before it was done', async () => {
      const { server, store, pattern, stream, one, other } = await stored()
      const [a = '', b = '', c = ''] = await append(store, pattern, 'a', 'b', 'c')
      await take(store, one, 2)
      await store.giveBack(one, [{ place: b, delay: 0, attempt: 2 }])
      await store.acknowledge({ ...one, group: 'another group' }, [a, b], true)
      assert.equal(await store.length(stream), 1)
      await server.pass(LEASE)
      const left = await take(store, other, 9, true)
      assert.deepEqual([ids(left), left.standing.undone, left.standing.first], [['c'], 1, c])
    })

    it('remembers an id for a while, and keeps events for as long as it is told', async () => {
      const { server, store, pattern, stream } = await stored()
      const batch = (ids: string[], maxAge = 0) =>
        store.append(batchOf(pattern, ids, { duplicateWindow: LEASE, maxAge }))
      const many = Array.from({ length: 128 }, (_, n) => `e${n}`)
      await batch(many)
      await batch(['e0'])
      assert.equal(await store.length(stream), 128)
      await server.pass(LEASE)
      assert.equal((await batch(['e0'], 60_000)).stored?.[0]?.[1], 0)
      await store.trim(stream, 60_000)
      assert.equal(await store.length(stream), 129)
      // Redis deletes whole nodes of a stream, of 100 events.
      await batch(['more'], LEASE / 2)
      const left = await store.length(stream)
      assert.ok(left >= 2 && left < 100, String(left))
      await batch(many.slice(1))
      await server.pass(LEASE)
      await store.trim(stream, LEASE / 2)
      assert.ok((await store.length(stream)) < 100)
    })

    it('counts the events that were deleted before a group got them, and the copies of those that it stores', async () => {
      const { store, pattern, stream, one } = await stored()
      const { copies, stored: [[a = ''] = [], [b = ''] = []] = [] } = await store.append(
        batchOf(pattern, ['a', 'b', 'c'])
      )
      assert.equal(copies, 0)
      await take(store, one, 1)
      await store.acknowledge(one, [a, b], true)
      assert.equal(await store.missed(stream, 'g'), 1)
      assert.deepEqual(ids(await take(store, one)), ['c'])
    })

    it('stores the key and the headers of an event that has them, beside one that has neither', async () => {
      const { store, pattern, one } = await stored()
      const [plain] = batchOf(pattern, ['a']).events as [EntryBatch['events'][number]]
      const events = [{ ...plain, key: 'k' }, { ...plain, headers: { h: '1' } }, plain]
      await store.append(batchOf(pattern, ['a', 'b', 'c'], { events }))
      assert.deepEqual(
        (await take(store, one)).entries.map(([, fields]) => fields.slice(4)),
        [['key', 'k'], ['headers', '{"h":"1"}'], []]
      )
    })

    // ── dead letters ─────────────────────────────────────────────────────────────────────────────────────

    it('shows in pages what a group has not done: taken, given back, and not delivered yet', async () => {
      const { store, pattern, stream, one } = await stored()
      const [a = '', b = '', c = '', d = ''] = await append(store, pattern, 'a', 'b', 'c', 'd')
      await take(store, one, 3)
      await store.acknowledge(one, [a], false)
      await store.giveBack(one, [{ place: b, delay: 60_000, attempt: 2 }])
      const page = await store.undone(stream, 'g', '0-0', '0-0', 2)
      assert.deepEqual(
        page.map(({ place, attempts, isTaken, due }) => [place, attempts, isTaken, due !== undefined]),
        [
          [b, 1, false, true],
          [c, 1, true, false]
        ]
      )
      assert.ok((page[0]?.due ?? 0) > (await store.time()))
      const [last, ...none] = await store.undone(stream, 'g', '0-0', c, 2)
      const { fields, ...fresh } = last as Undone
      assert.deepEqual(fresh, { place: d, attempts: 0, isTaken: false, due: undefined })
      assert.deepEqual([fields?.length, none], [4, []])
      const later = await store.undone(stream, 'not yet there', b, '0-0', 9)
      assert.deepEqual(
        later.map(({ place }) => place),
        [c, d]
      )
      await assert.rejects(store.undone(streamOf('case.nowhere'), 'g', '0-0', '0-0', 1), {
        name: 'ReplyError'
      })
    })

    it('buries an event once, lists dead letters in pages, redrives and discards them', async () => {
      const { connection, seen, store, pattern, stream, one } = await stored()
      const again = againOf('g', pattern)
      const group = `dead${count}`
      const reader = { ...one, group }
      await store.join(stream, group, '0-0')
      const [a = '', b = '', c = ''] = await append(store, pattern, 'a', 'b', 'c')
      await take(store, reader)
      for (const place of [a, b, c, a]) await store.bury(reader, place, false, ['id', place])
      assert.equal((await take(store, reader)).standing.undone, 0)
      const letters = await store.letters(group, '-', 2)
      assert.deepEqual(
        letters.map(([, fields]) => fields),
        [
          ['id', a],
          ['id', b]
        ]
      )
      const [[first = ''] = [], [second = ''] = []] = letters
      const behind = await store.letters(group, `(${second}`, 10)
      assert.deepEqual(behind[0]?.[1], ['id', c])
      assert.ok(comparePositions(behind[0]?.[0] as string, second) > 0 && behind.length === 1)
      assert.deepEqual(await store.letters(group, first, 1), [letters[0]])
      await store.join(again, group, '0-0')
      await connection.subscribe(wakeOf(again))
      await take(store, { ...reader, stream: again })
      assert.equal(await store.redrive(group, first, again), true)
      assert.equal(await store.redrive(group, first, again), false)
      await seen.until(`${wakeOf(again)} `)
      const { entries } = await take(store, { ...reader, stream: again })
      assert.deepEqual(entries[0]?.[1], ['id', a])
      await store.acknowledge({ ...reader, stream: again }, [entries[0]?.[0] as string], true)
      assert.equal(await store.discard(group, second), true)
      assert.equal(await store.discard(group, second), false)
      await store.bury({ ...reader, stream: streamOf('case.nowhere') }, '1-0', true, ['id', 'only here'])
      assert.deepEqual(
        (await store.letters(group, '-', 10)).map(([, fields]) => fields[1]),
        [c, 'only here']
      )
    })

    const readerOf = (pattern: string): Reader => ({
      stream: streamOf(pattern),
      group: 'g',
      process: 'one',
      ackWait: LEASE
    })
  })
}

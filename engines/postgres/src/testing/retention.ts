/**
 * Publishers, processes of three groups and several that delete what is old, all at once over the tables: everything is
 * counted at the end.
 */
import assert from 'node:assert/strict'
import { databaseOf } from '@elysia-microservices/outbox/database'
import { drive, PostgresServer } from '@elysia-microservices/outbox/testing'
import { pause, until } from '@elysia-microservices/test-support'
import pg from 'pg'
import { NOTHING, Tables } from '../connection/tables.ts'
import type { TakenRow } from '../connection/turn.ts'
import { migrateEvents } from '../index.ts'

const PUBLISHERS = 4
const PRUNERS = 3
const PROCESSES = 2
const TOGETHER = 20

interface Life {
  readonly events: number
  /** How often the server is killed. */
  readonly kills: number
  /** Somebody reads in a transaction that stays open meanwhile. */
  readonly hasReader: boolean
}

/** @throws {AssertionError} an event is handled twice or out of order, or something was counted wrongly */
export async function liveWithRetention({ events, kills, hasReader }: Life): Promise<void> {
  const server = await PostgresServer.start()
  const url = await server.database()
  const ends: (() => Promise<unknown>)[] = []
  const open = () => {
    const driven = drive('pg', url)
    ends.push(() => driven.end())
    return { ...driven, tables: new Tables(databaseOf(driven.sql), 'elysia_microservices') }
  }
  try {
    const { tables, sql, query } = open()
    await migrateEvents(sql)
    const groups = await Promise.all(
      [
        ['ordered', 'e', null, true],
        ['plain', 'e', null, false],
        // It handles seldom, so that events are deleted before it has had them.
        ['seldom', 'e*', '^e.*$', false]
      ].map(([name, pattern, matcher, isOrdered]) =>
        tables.join(String(name), String(pattern), matcher as string | null, isOrdered === true, {
          kind: 'all'
        })
      )
    )
    const [ordered, , seldom] = groups as [{ id: number }, unknown, { id: number }]
    if (hasReader) {
      const reader = new pg.Client(url)
      reader.on('error', () => {})
      await reader.connect()
      await reader.query(
        'begin isolation level repeatable read; select count(*) from elysia_microservices.event'
      )
      ends.push(() => reader.end().catch(() => {}))
    }
    let published = 0
    let isOver = false
    const missed = new Map<string, number>()
    const seen = new Map<number, Map<string, number>>(groups.map(({ id }) => [id, new Map()]))
    const lastOfKey = new Map<string | null, number>()
    /** Goes on over kills of the server. */
    const again = async (work: () => Promise<unknown>) => {
      for (;;) {
        try {
          return await work()
        } catch (error) {
          if (kills === 0 || error instanceof assert.AssertionError || /deadlock/.test(String(error)))
            throw error
          await pause(50)
        }
      }
    }
    const publish = async (publisher: number) => {
      const own = open().tables
      for (let n = publisher * TOGETHER; n < events; n += PUBLISHERS * TOGETHER) {
        const some = Array.from({ length: Math.min(TOGETHER, events - n) }, (_, at) => n + at)
        await again(() =>
          own.store(
            some.map((id) => ({
              ...{ pattern: 'e', id: String(id), key: `k${publisher} ${id % 5}`, headers: undefined },
              body: `{"data":${id}}`
            })),
            600_000
          )
        )
        published += some.length
      }
    }
    const prune = async () => {
      const own = open().tables
      for (let behind = NOTHING; !isOver; ) {
        await again(async () => {
          const pruned = await own.prune(300, 600_000, behind)
          behind = pruned
          for (const { group, count } of pruned.missed) missed.set(group, (missed.get(group) ?? 0) + count)
        })
        await pause(10)
      }
    }
    const note = (rows: readonly TakenRow[]) => {
      for (const { group, id, key, vanished } of rows) {
        if (vanished === true) continue
        const ids = seen.get(group) as Map<string, number>
        ids.set(id, (ids.get(id) ?? 0) + 1)
        if (group !== ordered.id || kills > 0) continue
        assert.ok(Number(id) > (lastOfKey.get(key) ?? -1), `${id} after ${lastOfKey.get(key)} of ${key}`)
        lastOfKey.set(key, Number(id))
      }
    }
    let vanished = 0
    const handle = async (name: string) => {
      const own = open().tables
      let known: string[] = []
      for (let turn = 0; !isOver; turn++) {
        const wanted = groups
          .map(({ id }) => ({ id, most: 50, back: 50 }))
          .filter(({ id }) => id !== seldom.id || turn % 40 === 0)
          // As turns ask for them, or they could wait for one another.
          .sort((one, other) => one.id - other.id)
        await again(async () => {
          const settled = known.map((batch) => ({
            batch,
            left: [],
            back: [],
            dead: [],
            discarded: [],
            over: []
          }))
          const { taken } = await own.turn(name, 60_000, settled, known, wanted, false)
          known = [...new Set(taken.map(({ batch }) => batch))]
          vanished += taken.filter((row) => row.vanished === true).length
          note(taken)
        })
        await pause(2)
      }
    }
    const others = [
      ...Array.from({ length: PRUNERS }, prune),
      ...Array.from({ length: PROCESSES }, (_, n) => handle(`p${n}`))
    ]
    const publishing = Promise.all(Array.from({ length: PUBLISHERS }, (_, n) => publish(n)))
    for (let n = 1; n <= kills; n++) {
      await until('Events are published', () => published >= (n * events) / (kills + 1), 120_000)
      await server.kill()
      await server.start()
    }
    await publishing
    const isEmpty = async () => {
      const figures = await tables.figures(groups.map(({ id }) => id)).catch(() => [])
      return figures.length === groups.length && figures.every(({ lag }) => lag === 0)
    }
    await until('Nothing waits for any group', isEmpty, 120_000)
    const bytes = async () => {
      const [counted] = await query(
        `select elysia_microservices.kept_bytes()::text as kept,
          (select coalesce(sum(elysia_microservices.size_of(headers, body)), 0)::text from elysia_microservices.event) as stored`
      )
      return [counted?.['kept'], counted?.['stored']]
    }
    // Events count from the horizon on, which a turn moves: the last ones may be beyond it still.
    await until('All bytes are counted', async () => new Set(await bytes()).size === 1, 120_000)
    isOver = true
    await Promise.all(others)
    const [kept, stored] = await bytes()
    assert.equal(kept, stored)
    if (kills > 0) return
    for (const [name, { id }] of ['ordered', 'plain', 'seldom'].map(
      (one, at) => [one, groups[at] as { id: number }] as const
    )) {
      const ids = seen.get(id) as Map<string, number>
      assert.ok(
        [...ids.values()].every((times) => times === 1),
        `${name} has had an event twice`
      )
      if (vanished === 0) assert.equal(ids.size + (missed.get(name) ?? 0), events, name)
    }
    assert.ok((missed.get('seldom') ?? 0) > 0, 'nothing was missed, so nothing was shown')
  } finally {
    for (const end of ends.reverse()) await end()
    await server.stop()
  }
}

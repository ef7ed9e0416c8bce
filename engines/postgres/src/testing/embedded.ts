/**
 * PostgreSQL inside the process, compiled to WebAssembly: the statements of this package run on it without a server. It
 * has one session, so nothing waits for anything here; `tables.slow.test.ts` has what several sessions do. Transactions of
 * others that have not ended are simulated: snapshots show them as running.
 */

import { PGlite } from '@electric-sql/pglite'
import { databaseOf } from '@elysia-microservices/outbox/database'
import { acknowledgeEvent } from '../connection/in-transaction.ts'
import { Tables } from '../connection/tables.ts'
import type { Looks, Settling, TakenRow } from '../connection/turn.ts'
import { migrateEvents } from '../tables/migrate-events.ts'
import { SETTABLE_CLOCK, setClock } from './clock.ts'

type Row = Record<string, unknown>

export class Embedded {
  readonly tables: Tables
  readonly #engine: PGlite

  #simulates = false

  private constructor(engine: PGlite, tables: Tables) {
    this.#engine = engine
    this.tables = tables
  }

  /** Loads PostgreSQL, which takes a second or two, and creates the tables. */
  static async open(): Promise<Embedded> {
    const engine = await PGlite.create()
    const client = {
      query: async (text: string, values?: unknown[]) => {
        if (values !== undefined) return engine.query(text, values)
        return (await engine.exec(text)).at(-1) ?? { rows: [] }
      },
      on() {},
      removeListener() {},
      release() {}
    }
    const connect = (connected: (error: undefined, given: object) => void) => connected(undefined, client)
    const pool = { totalCount: 0, query: client.query, connect }
    await engine.exec(SETTABLE_CLOCK)
    await migrateEvents(pool as never)
    return new Embedded(engine, new Tables(databaseOf(pool as never), 'elysia_microservices'))
  }

  async query(text: string, ...values: unknown[]): Promise<Row[]> {
    return (await this.#engine.query<Row>(text, values)).rows
  }

  /** Sets the clock of the database. @param by from the system's clock: `-1 hour` */
  async setClock(by: string): Promise<void> {
    await this.#engine.exec(setClock(by))
  }

  /** Acknowledges an event, in a transaction of its own. */
  acknowledge(row: TakenRow): Promise<boolean> {
    const query = async (text: string, values: readonly (string | null)[] = []) =>
      (await this.#engine.query<Row>(text, [...values])).rows
    return acknowledgeEvent({ query }, 'elysia_microservices', row)
  }

  /** Another process begins a transaction. */
  async begin(): Promise<OpenTransaction> {
    if (!this.#simulates) await this.#engine.exec(SIMULATED)
    this.#simulates = true
    const [row] = await this.query(
      'insert into simulated.running select pg_current_xact_id() returning id::text'
    )
    return new OpenTransaction(this, String(row?.['id']))
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}

/** The functions of this package look for functions of PostgreSQL in this schema first. */
const SIMULATED = `
create schema simulated;
create table simulated.running (id xid8 primary key);
create function simulated.pg_current_snapshot() returns pg_snapshot language sql as $$
  select format('%s:%s:%s', least(pg_snapshot_xmin(s), (select id from simulated.running order by id limit 1)),
    pg_snapshot_xmax(s), (select string_agg(id::text, ',' order by id) from simulated.running))::pg_snapshot
  from pg_catalog.pg_current_snapshot() as s
$$;
set search_path = simulated, pg_catalog, public;
`

/** A transaction of another process, which has not ended. */
export class OpenTransaction {
  readonly #database: Embedded
  readonly #id: string
  readonly #events: unknown[][] = []

  constructor(database: Embedded, id: string) {
    this.#database = database
    this.#id = id
  }

  /** Publishes an event: it has its position, and nobody sees it. */
  async publish(pattern: string, id: string, key: string | null = null): Promise<void> {
    const [row] = await this.#database.query(
      "select nextval('elysia_microservices.event_position') as position"
    )
    this.#events.push([row?.['position'], pattern, id, key, '{"data":1}'])
  }

  async commit(): Promise<void> {
    for (const event of this.#events)
      await this.#database.query(
        'insert into elysia_microservices.event (position, pattern, id, key, body) values ($1, $2, $3, $4, $5)',
        ...event
      )
    await this.rollback()
  }

  async rollback(): Promise<void> {
    await this.#database.query('delete from simulated.running where id = $1::text::xid8', this.#id)
  }
}

let count = 0

/** One group, its events and a process that handles them. */
export class EmbeddedGroup {
  readonly database: Embedded
  readonly name = `g${++count}`
  readonly pattern = `p${count}`
  readonly process = `one ${count}`
  readonly isTransactional: boolean
  id = 0

  constructor(database: Embedded, isTransactional = false) {
    this.database = database
    this.isTransactional = isTransactional
  }

  async join(isOrdered = false): Promise<this> {
    const joined = await this.database.tables.join(this.name, this.pattern, null, isOrdered, { kind: 'all' })
    this.id = joined.id
    return this
  }

  /** Stores events. @param keys of the events; `undefined`: they have none */
  publish(ids: readonly string[], key?: string, time: { readonly delay?: number } = {}, window = 120_000) {
    const event = { pattern: this.pattern, key, headers: undefined, body: '{"data":1}', ...time }
    return this.database.tables.store(
      ids.map((id) => ({ ...event, id })),
      window
    )
  }

  /** The batches of which the process knows. */
  known: string[] = []
  /** The events that the process has, by id. */
  readonly has = new Map<string, TakenRow>()

  /** One turn of the process. @returns `id attempt` of each event that has come */
  async turn(settled: readonly Settling[] = [], looks?: Looks, owner = this.process, most = 100) {
    const claims = this.isTransactional ? { claims: true as const } : {}
    const wanted = most === 0 ? [] : [{ id: this.id, most, back: most, ...claims }]
    const known = owner === this.process ? this.known : []
    const turn = await this.database.tables.turn(owner, 60_000, settled, known, wanted, false, 0, looks)
    if (owner === this.process) {
      this.known = [...new Set([...this.known, ...turn.taken.map(({ batch }) => batch)])]
      this.known = this.known.filter((batch) => !turn.lost.includes(batch))
    }
    for (const row of turn.taken) this.has.set(row.id, row)
    return { ...turn, came: turn.taken.map(({ id, attempt }) => `${id} ${attempt}`) }
  }

  /** The fates of the events of one batch: all that are not named are done. */
  settling(
    given: Partial<Record<'left' | 'back' | 'dead' | 'discarded', readonly string[]>>,
    over: string[] = []
  ) {
    const rows = (ids: readonly string[] = []) => ids.map((id) => this.has.get(id) as TakenRow)
    const of = ({ position, letter, attempt }: TakenRow) => ({ position, letter, attempt, lock: null })
    const [first] = [...this.has.values()]
    const settling: Settling = {
      batch: first?.batch ?? '',
      left: rows(given.left).map(of),
      back: rows(given.back).map((row) => ({ ...of(row), delay: 0 })),
      dead: rows(given.dead).map((row) => ({ ...row, reason: 'no' })),
      discarded: rows(given.discarded),
      over
    }
    this.has.clear()
    return settling
  }

  /** The process has given no sign of life for two minutes. */
  silence() {
    return this.database.query(
      "update elysia_microservices.process set seen = seen - interval '2 minutes' where id = $1",
      this.process
    )
  }
}

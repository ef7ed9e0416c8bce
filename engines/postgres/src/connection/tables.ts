/** The functions of the tables, as this package calls them: one statement for each method. */

import { unanswered } from '@elysia-microservices/engine'
import { type Database, inSchema, type Row } from '@elysia-microservices/outbox/database'
import { endedWithin } from '@elysia-microservices/transport/kit'
import { BACKLOG } from '../tables/statements/backlog.ts'
import { cutColumns, PAGE_BYTES } from '../tables/statements/pages.ts'
import { type NewEvent, type Stored, storeEvents } from './in-transaction.ts'
import { toldAsLost } from './lost.ts'
import { type Looks, rowsOf, type Settling, type TakenBatch, type Turn, type Wanted } from './turn.ts'

export interface GroupFigures {
  readonly id: number
  readonly paused: boolean
  readonly lag: number
}

/** How far old events and ids are deleted. */
export interface Deleted {
  /** The position of the last event. */
  readonly deleted: string
  /** The time of the last id, in milliseconds since 1970. */
  readonly forgotten: number
}

/** Nothing is known to be deleted. */
export const NOTHING: Deleted = { deleted: '0', forgotten: 0 }

/** The outcome of an attempt to delete. */
export interface Pruned extends Deleted {
  /** There may be more to delete. */
  readonly more: boolean
  /** Deleted events that groups had not had. */
  readonly missed: readonly { readonly group: string; readonly pattern: string; readonly count: number }[]
}

/**
 * Milliseconds after which nobody waits any longer for the answer of a statement, which is far more than any of these
 * takes. A server that is gone without a word, as in a failover, answers none, and drivers may wait for ever.
 */
const PATIENCE = 300_000
/** Milliseconds after which PostgreSQL itself ends a statement that waits for a lock: so it still answers, and is asked again. */
const LOCK_PATIENCE = 240_000

/** The tables of one schema. */
export class Tables {
  readonly database: Database
  readonly schema: string

  constructor(database: Database, schema: string) {
    this.database = database
    this.schema = schema
  }

  /**
   * @throws {ConnectionError} PostgreSQL cannot be reached, or was lost
   * @throws the driver's error
   */
  query(text: string, ...values: readonly (string | null)[]): Promise<readonly Row[]> {
    return answered(this.database.query(inSchema(text, this.schema), values)).catch((error: unknown) => {
      throw toldAsLost(error, true)
    })
  }

  /** @param waits see {@link storeEvents} */
  store(events: readonly NewEvent[], duplicateWindow: number, waits = true, maxBytes = 0): Promise<Stored[]> {
    const keeping = { duplicateWindow, maxBytes }
    // Those who wait for a user's transaction wait as long as it does, but not in one statement.
    const lockTimeout = waits ? LOCK_PATIENCE : undefined
    return answered(storeEvents(this.database, this.schema, events, keeping, waits, lockTimeout))
  }

  /** Looks through what was published: turns do that, too. */
  async advance(): Promise<void> {
    await this.query('select "elysia_microservices".advance()')
  }

  async join(
    name: string,
    pattern: string,
    matcher: string | null,
    isOrdered: boolean,
    start: { readonly kind: string; readonly since?: Date; readonly after?: string }
  ): Promise<{ readonly id: number; readonly ordered: boolean; readonly skipped: number }> {
    // A new group begins behind what is stored now.
    for (let isMore = true; isMore; ) {
      const [row] = await this.query('select "elysia_microservices".advance(true) as more')
      isMore = row?.['more'] === true
    }
    const [row] = await this.query(
      'select * from "elysia_microservices".join_group($1::text, $2::text, $3::text, $4::text::boolean, $5::text, $6::text::timestamptz, $7::text::bigint)',
      name,
      pattern,
      matcher,
      String(isOrdered),
      start.kind,
      start.since?.toISOString() ?? null,
      start.after ?? null
    )
    return { id: Number(row?.['id']), ordered: row?.['ordered'] === true, skipped: Number(row?.['skipped']) }
  }

  /**
   * @param known the batches of which the process knows
   * @param grace milliseconds for which this sign of life holds longer than `lease`
   * @param looks where to look for what is due. Default: everywhere
   */
  async turn(
    owner: string,
    lease: number,
    settled: readonly Settling[],
    known: readonly string[],
    wanted: readonly Wanted[],
    willSleep: boolean,
    grace = 0,
    looks: Looks = wanted.map(({ id }) => id)
  ): Promise<Turn> {
    const [row] = await this.query(
      'select "elysia_microservices".turn($1::text, $2::text::integer, $3::text::json, $4::text::json, $5::text::json, $6::text::boolean, $7::text::integer, $8::text::json)::text as turn',
      owner,
      String(lease),
      JSON.stringify(settled),
      JSON.stringify(known),
      JSON.stringify(wanted),
      String(willSleep),
      String(grace),
      JSON.stringify(looks)
    )
    const turn = JSON.parse(String(row?.['turn'])) as Omit<Turn, 'taken'> & { taken: TakenBatch[] }
    return { ...turn, taken: turn.taken.flatMap(rowsOf) }
  }

  async figures(ids: readonly number[]): Promise<readonly GroupFigures[]> {
    const [row] = await this.query(
      'select "elysia_microservices".figures($1::text::json)::text as figures',
      JSON.stringify(ids)
    )
    return JSON.parse(String(row?.['figures'] ?? '[]')) as GroupFigures[]
  }

  /** The groups of a name, each for one pattern. */
  async groupIds(name: string): Promise<number[]> {
    const rows = await this.query(
      'select id::text from "elysia_microservices".grp where name = $1::text',
      name
    )
    return rows.map(({ id }) => Number(id))
  }

  /** The events that wait for the groups of a name; `undefined`: there is no such group. */
  async lag(name: string): Promise<number | undefined> {
    const ids = await this.groupIds(name)
    if (ids.length === 0) return undefined
    const figures = await this.figures(ids)
    return figures.reduce((sum, { lag }) => sum + lag, 0)
  }

  async leave(owner: string): Promise<void> {
    await this.query('select "elysia_microservices".leave($1::text)', owner)
  }

  /** Deletes what is too old. @param behind what was deleted before */
  async prune(maxAge: number, duplicateWindow: number, behind: Deleted = NOTHING): Promise<Pruned> {
    const [row] = await this.query(
      'select "elysia_microservices".prune_events($1::text::bigint, $2::text::integer, $3::text::bigint, $4::text::bigint)::text as pruned',
      String(maxAge),
      String(duplicateWindow),
      behind.deleted,
      String(behind.forgotten)
    )
    return JSON.parse(String(row?.['pruned'])) as Pruned
  }

  /** Pauses or resumes all groups of a name. @returns whether there is one */
  async pause(name: string, isPaused: boolean): Promise<boolean> {
    const rows = await this.query(
      'with changed as (update "elysia_microservices".grp set paused = $2::text::boolean where name = $1::text returning id) select count(*)::text as count, "elysia_microservices".wake_handlers()::text from changed',
      name,
      String(isPaused)
    )
    return Number(rows[0]?.['count']) > 0
  }

  /** Dead letters in their order: `most`, or fewer if they are large. @param from the place of the first one */
  async letters(group: string, from: string, most: number): Promise<readonly Row[]> {
    return this.query(
      `select place::text, pattern, id, key, headers, body, reason, attempts, found,
        (extract(epoch from published) * 1000)::float8 as published, (extract(epoch from died) * 1000)::float8 as died
      from (
        select *, ${cutColumns('place')} from (
          select letter.* from "elysia_microservices".letter join "elysia_microservices".grp on grp.id = letter.grp
            where grp.name = $1::text and not pending and place >= $2::text::bigint
            order by letter.place limit $3::text::integer
        ) as letter
      ) as letter where before < ${PAGE_BYTES} order by letter.place`,
      group,
      from,
      String(most)
    )
  }

  /**
   * Events that groups have not handled, in the order of positions. `due` is null for those that a process has, and in
   * the past for those that a process may take; times are in milliseconds since 1970. A page has fewer if they are large.
   * @param behind the last row of the page before
   */
  backlog(ids: readonly number[], behind: Row | undefined, most: number): Promise<readonly Row[]> {
    const { position, letter, grp } = behind ?? { position: 0, letter: 0, grp: 0 }
    return this.query(
      BACKLOG,
      JSON.stringify(ids),
      String(position),
      String(letter),
      String(grp),
      String(most)
    )
  }

  async redrive(group: string, place: string): Promise<boolean> {
    const [row] = await this.query(
      'select "elysia_microservices".redrive($1::text, $2::text::bigint) as done',
      group,
      place
    )
    return row?.['done'] === true
  }

  /** The time of the server in milliseconds since 1970. */
  async now(): Promise<number> {
    const [row] = await this.query('select (extract(epoch from clock_timestamp()) * 1000)::text as now')
    return Number(row?.['now'])
  }

  /** Deletes an event of the future. @returns whether it waited */
  async cancel(pattern: string, id: string): Promise<boolean> {
    const rows = await this.query(
      'delete from "elysia_microservices".later where pattern = $1::text and id = $2::text returning id',
      pattern,
      id
    )
    return rows.length > 0
  }

  /** Publishes an event of the future now. @returns whether it waited */
  async fire(pattern: string, id: string): Promise<boolean> {
    // The row is locked first: a row that its own statement deletes before it is locked is no row of the answer.
    const rows = await this.query(
      'with one as materialized (select l as event from "elysia_microservices".later as l where pattern = $1::text and id = $2::text for update) select "elysia_microservices".fire_these(array[event])::text, "elysia_microservices".wake_handlers()::text from one',
      pattern,
      id
    )
    return rows.length > 0
  }

  /** Events of the future, the soonest first: `most`, or fewer if they are large. @param behind the last one of the page before */
  waiting(pattern: string | undefined, behind: Row | undefined, most: number): Promise<readonly Row[]> {
    const { due, pattern: name, id } = behind ?? { due: -1, pattern: '', id: '' }
    return this.query(
      `select * from (
        select *, ${cutColumns('time, pattern, id')} from (
          select * from (
            select pattern, id, key, headers, body, (extract(epoch from due) * 1000)::numeric::text as due,
              extract(epoch from due) * 1000 as time from "elysia_microservices".later
          ) as l where (time, pattern, id) > ($2::text::numeric, $3::text, $4::text) and ($1::text is null or pattern = $1::text)
          order by time, pattern, id limit $5::text::integer
        ) as l
      ) as l where before < ${PAGE_BYTES} order by time, pattern, id`,
      pattern ?? null,
      String(due),
      String(name),
      String(id),
      String(most)
    )
  }

  async discard(group: string, place: string): Promise<boolean> {
    const rows = await this.query(
      'delete from "elysia_microservices".letter using "elysia_microservices".grp where grp.id = letter.grp and grp.name = $1::text and place = $2::text::bigint and not pending returning place::text',
      group,
      place
    )
    return rows.length > 0
  }
}

/** The answer, or an error if there is none for too long. The statement may still run then. */
async function answered<Answer>(asked: Promise<Answer>): Promise<Answer> {
  if (await endedWithin(asked, PATIENCE)) return asked
  throw unanswered(PATIENCE)
}

/** The events that a group has not handled, as operators see them. */
import { backlogEvent } from '@elysia-microservices/engine'
import type { BacklogEvent } from '@elysia-microservices/transport/kit'
import type { Database, Row, Statement } from '../driver.ts'
import type { EventLog } from './event-log.ts'
import type { Group } from './groups.ts'

/** Where an event of a backlog is. */
export interface BacklogPlace {
  readonly group: Group
  readonly position: number
  /** The dead letter that was given back; 0: none. */
  readonly letter: number
}

/** Reads backlogs: it writes nothing. */
export class Backlog {
  readonly #log: EventLog
  readonly #taken: Statement
  readonly #behind: Statement
  readonly #pending: Statement
  readonly #event: Statement
  readonly #letter: Statement

  constructor(database: Database, log: EventLog) {
    this.#log = log
    const content = 'published, id, key, headers, body'
    this.#taken = database.prepare(
      'select position, letter from pending where grp = ? and (position, letter) > (?, ?) order by position, letter limit ?'
    )
    this.#behind = database.prepare(
      'select position from event where pattern = ? and position > ? order by position limit ?'
    )
    this.#pending = database.prepare(
      'select attempt, due from pending where grp = ? and position = ? and letter = ?'
    )
    this.#event = database.prepare(
      `select position, published, event.id, key, headers, body, name as pattern from event join pattern on pattern.id = event.pattern where position = ?`
    )
    this.#letter = database.prepare(`select position, ${content}, pattern from letter where place = ?`)
  }

  /**
   * The places of a group's events in the order of the log: those that were taken, and then what is behind the cursor.
   * @param behind the last place of the page before
   */
  page(group: Group, behind: BacklogPlace | undefined, most: number): BacklogPlace[] {
    const { position, letter } = behind ?? { position: 0, letter: 0 }
    const places = this.#taken
      .all(group.id, position, letter, most)
      .map((row) => ({ group, position: Number(row['position']), letter: Number(row['letter']) }))
    const left = most - places.length
    if (left === 0) return places
    const cursor = Math.max(group.cursor, position)
    const stored = this.#log.patterns
      .matching(group.pattern, group.isWide)
      .flatMap(({ id }) => this.#behind.all(id, cursor, left))
      .map((row) => ({ group, position: Number(row['position']), letter: 0 }))
    if (group.isWide) stored.sort((one, other) => one.position - other.position)
    return [...places, ...stored.slice(0, left)]
  }

  /** The event at a place; `undefined`: it is handled by now, or too old. */
  event({ group, position, letter }: BacklogPlace, now: number): BacklogEvent | undefined {
    const taken = this.#pending.get(group.id, position, letter)
    if (taken === undefined && position <= group.cursor) return undefined
    const row = letter === 0 ? this.#event.get(position) : this.#letter.get(letter)
    return row && backlogEvent({ attempt: 0, ...row, ...taken }, stateOf(taken, now))
  }
}

function stateOf(taken: Row | undefined, now: number): BacklogEvent['state'] {
  if (taken === undefined) return 'waiting'
  if (taken['due'] === null) return 'running'
  return Number(taken['due']) > now ? 'pausing' : 'waiting'
}

/** The groups of one file: how far each has come, and which of its events are not done. */
import { type DurableSettings, hasWildcards, OptionError } from '@elysia-microservices/transport/kit'
import type { Database, Row, Statement } from '../driver.ts'
import { type EventRow, TakenEvent } from './event.ts'
import type { EventLog } from './event-log.ts'

/** Bytes of events that are taken in one step: the event loop gets its turn, and memory is not filled. */
const MOST_BYTES = 1024 * 1024
/** Events that a pattern with wildcards passes in one step. */
const MOST_PASSED = 500

/** One group of one handler, as the file has it. */
export interface Group {
  readonly id: number
  readonly name: string
  readonly pattern: string
  readonly isWide: boolean
  readonly ordered: boolean
  isPaused: boolean
  /** All events up to this position were taken, or are none of this group. */
  cursor: number
  /** Number of events of the group up to the cursor. */
  taken: number
  /** Number of taken events that are not done. */
  pending: number
  /** When the next of them is due; `undefined`: none waits. */
  due: number | undefined
  /** Number of its events that the log has deleted since they were taken first; 0 again when that is told. */
  vanished: number
  /** Number of stored events that it does not get, because it is new; 0 again when that is told. */
  skipped: number
}

/** The fate of an event that was taken. */
export type Settled =
  | { readonly kind: 'done'; readonly event: TakenEvent }
  /** It is due again after a pause in milliseconds. */
  | { readonly kind: 'back'; readonly event: TakenEvent; readonly pause: number }
  | { readonly kind: 'dead'; readonly event: TakenEvent; readonly reason: string; readonly died: number }

/** The groups of one file. All methods but the first three run within a transaction. */
export class Groups {
  readonly #log: EventLog
  readonly #sql: Readonly<Record<keyof ReturnType<typeof statements>, Statement>>
  readonly #known = new Map<number, Group>()

  constructor(database: Database, log: EventLog) {
    this.#log = log
    this.#sql = statements(database)
    // The events of a process that was ended are due again: their runs were counted when they began.
    log.transactions.run('process', () => database.exec('update pending set due = 0 where due is null'))
    for (const row of this.#sql.all.all()) this.#read(row)
  }

  #read(row: Row): Group {
    const id = Number(row['id'])
    const known = this.#known.get(id)
    const changing = {
      isPaused: row['paused'] === 1,
      cursor: Number(row['cursor']),
      taken: Number(row['taken']),
      pending: Number(this.#sql.count.get(id)?.['count']),
      due: this.#nextDue(id)
    }
    if (known !== undefined) return Object.assign(known, changing)
    const [name, pattern] = [String(row['name']), String(row['pattern'])]
    const group = {
      id,
      name,
      pattern,
      isWide: hasWildcards(pattern),
      ordered: row['ordered'] === 1,
      vanished: 0,
      skipped: 0,
      ...changing
    }
    this.#known.set(id, group)
    return group
  }

  #nextDue(id: number): number | undefined {
    const row = this.#sql.nextDue.get(id)
    return row && Number(row['due'])
  }

  /** Reads a group from the file, because a transaction was undone. */
  reload(group: Group): void {
    const row = this.#sql.one.get(group.id)
    if (row !== undefined) this.#read(row)
  }

  /** All groups of a name, each for one pattern. */
  named(name: string): Group[] {
    return [...this.#known.values()].filter((group) => group.name === name)
  }

  /** Number of events of a group that are stored and not done. */
  lag(group: Group): number {
    const totals = this.#matching(group).reduce((sum, { total }) => sum + total, 0)
    return totals - group.taken + group.pending
  }

  #matching({ pattern, isWide }: Group) {
    return this.#log.patterns.matching(pattern, isWide)
  }

  /**
   * The group of a name for a pattern, which is created if it is missing.
   * @throws {OptionError} it exists with other settings, or its start is no position
   */
  join(name: string, pattern: string, { ordered, start }: DurableSettings): Group {
    const known = this.named(name).find((group) => group.pattern === pattern)
    if (known !== undefined) {
      if (known.ordered === ordered) return known
      throw new OptionError(
        'options.durable.ordered',
        `The group '${name}' handles '${pattern}' already with ordered: ${known.ordered}, and this service wants ordered: ${ordered}; let them agree, or give one another group`
      )
    }
    const cursor = this.#startOf(start)
    const matching = this.#log.patterns.matching(pattern, hasWildcards(pattern))
    const taken = this.#log.patterns.countUpTo(cursor, matching)
    const row = this.#log.transactions.run('disk', () =>
      this.#sql.create.get(name, pattern, Number(ordered), cursor, taken)
    )
    const group = this.#read(row as Row)
    if (start === 'new') group.skipped = taken - this.#log.patterns.countUpTo(this.#log.deleted, matching)
    return group
  }

  #startOf(start: DurableSettings['start']): number {
    const { last, deleted } = this.#log
    if (start === 'new') return last
    if (start === 'all') return deleted
    if ('since' in start) return this.#log.before(start.since.getTime())
    if (!/^\d{1,15}$/.test(start.after ?? ''))
      throw OptionError.expected(
        'options.durable.start.after',
        "a position that publish() gave, such as '17'",
        start.after
      )
    return Math.min(last, Math.max(deleted, Number(start.after)))
  }

  /**
   * Lets a group go on behind the events that were deleted before it had got them.
   * @returns their number
   */
  skipDeleted(group: Group): number {
    const { deleted } = this.#log
    if (group.cursor >= deleted) return 0
    const taken = this.#log.patterns.countUpTo(deleted, this.#matching(group))
    const missed = taken - group.taken
    this.#moveTo(group, deleted, taken)
    return missed
  }

  #moveTo(group: Group, cursor: number, taken: number): void {
    group.cursor = cursor
    group.taken = taken
    this.#sql.move.run(cursor, taken, group.id)
  }

  /** Pauses or resumes all groups of a name. @returns those that were changed */
  pause(name: string, isPaused: boolean): Group[] {
    const groups = this.named(name)
    for (const group of groups) {
      this.#sql.pause.run(Number(isPaused), group.id)
      group.isPaused = isPaused
    }
    return groups
  }

  /** Whether a group may have an event that can be taken now. */
  hasMore(group: Group, now: number): boolean {
    if (group.isPaused) return false
    if (group.due !== undefined && group.due <= now) return true
    return this.#log.last > group.cursor && this.lag(group) > group.pending
  }

  /**
   * Takes events for this process: first those that are due again, then those of the log.
   * @param isBeginning their handlers begin at once, so this run is counted; if not, `begin` counts it
   */
  take(group: Group, most: number, now: number, isBeginning: boolean): TakenEvent[] {
    const again = this.#takeDue(group, most, now, isBeginning)
    const left = most - again.length
    // Events that come back go before all that were published later, with which they share keys.
    if (left === 0 || (group.due !== undefined && group.due <= now)) return again
    return [
      ...again,
      ...(group.isWide ? this.#takeWide(group, left, isBeginning) : this.#takeExact(group, left, isBeginning))
    ]
  }

  #takeDue(group: Group, most: number, now: number, isBeginning: boolean): TakenEvent[] {
    if (group.due === undefined || group.due > now) return []
    const taken: TakenEvent[] = []
    let bytes = 0
    for (const row of this.#sql.due.all(group.id, now, most)) {
      const [position, letter, attempt] = [row['position'], row['letter'], row['attempt']].map(Number) as [
        number,
        number,
        number
      ]
      const found = letter === 0 ? this.#sql.event.get(position) : this.#sql.letter.get(letter)
      if (found === undefined) {
        // The log has deleted it meanwhile, because of its age.
        this.#sql.drop.run(group.id, position, letter)
        group.pending--
        group.vanished++
        continue
      }
      const event = new TakenEvent(rowOf(found, letter), attempt, isBeginning)
      this.#sql.hold.run(event.begun, group.id, position, letter)
      taken.push(event)
      bytes += event.body.length
      if (bytes > MOST_BYTES) break
    }
    group.due = this.#nextDue(group.id)
    return taken
  }

  #takeExact(group: Group, most: number, isBeginning: boolean): TakenEvent[] {
    const pattern = this.#log.patterns.find(group.pattern)
    if (pattern === undefined) return []
    const taken: TakenEvent[] = []
    let bytes = 0
    let ordinal = group.taken
    for (const row of this.#sql.behind.all(pattern.id, group.cursor, most)) {
      bytes += Number(row['size'])
      if (taken.length > 0 && bytes > MOST_BYTES) break
      ordinal = Number(row['ordinal'])
      taken.push(this.#hold(group, Number(row['position']), isBeginning))
    }
    const last = taken.at(-1)
    if (last !== undefined) this.#moveTo(group, last.place, ordinal)
    return taken
  }

  /** Passes all events of the log, and takes those whose pattern matches. */
  #takeWide(group: Group, most: number, isBeginning: boolean): TakenEvent[] {
    const wanted = new Set(this.#matching(group).map(({ id }) => id))
    const taken: TakenEvent[] = []
    let bytes = 0
    let { cursor } = group
    for (const row of this.#sql.allBehind.all(cursor, MOST_PASSED)) {
      const isWanted = wanted.has(Number(row['pattern']))
      if (isWanted) {
        bytes += Number(row['size'])
        if (taken.length === most || (taken.length > 0 && bytes > MOST_BYTES)) break
        taken.push(this.#hold(group, Number(row['position']), isBeginning))
      }
      cursor = Number(row['position'])
    }
    if (cursor !== group.cursor) this.#moveTo(group, cursor, group.taken + taken.length)
    return taken
  }

  #hold(group: Group, position: number, isBeginning: boolean): TakenEvent {
    const event = new TakenEvent(rowOf(this.#sql.event.get(position) as Row, 0), 0, isBeginning)
    this.#sql.insert.run(group.id, position, 0, event.begun, null)
    group.pending++
    return event
  }

  /** Counts a run that begins, so that it counts even if it ends this process. */
  begin(group: Group, event: TakenEvent): void {
    event.begun = event.attempt
    this.#sql.begin.run(event.begun, group.id, event.place, event.letter)
  }

  /** Writes what has become of an event. */
  settle(group: Group, settled: Settled, now: number): void {
    const { event } = settled
    if (settled.kind === 'back') {
      const due = settled.pause === 0 ? 0 : now + settled.pause
      this.#sql.back.run(event.begun, due, group.id, event.place, event.letter)
      group.due = Math.min(due, group.due ?? due)
      return
    }
    this.#sql.drop.run(group.id, event.place, event.letter)
    group.pending--
    if (event.letter !== 0) this.#sql.dropLetter.run(event.letter)
    if (settled.kind !== 'dead') return
    const { place, pattern, publishedAt, id, key = null, headersText, body, attempt } = event
    const { reason, died } = settled
    this.#sql.bury.run(
      group.id,
      place,
      pattern,
      publishedAt,
      id,
      key,
      headersText,
      body,
      reason,
      attempt,
      died
    )
  }

  /** The clock was set back by some milliseconds: pauses end as they would have without that. */
  setBack(by: number): void {
    this.#sql.setBack.run(by)
    for (const group of this.#known.values()) group.due = this.#nextDue(group.id)
  }

  /** Gives a dead letter back to its group. @returns its group; `undefined`: there is none at that place */
  redrive(name: string, place: number): Group | undefined {
    const found = this.#letterOf(name, place)
    if (found === undefined) return undefined
    const { group, position } = found
    this.#sql.markLetter.run(place)
    this.#sql.insert.run(group.id, position, place, 0, 0)
    group.pending++
    group.due = 0
    return group
  }

  /** Deletes a dead letter. @returns whether there was one */
  discard(name: string, place: number): boolean {
    if (this.#letterOf(name, place) === undefined) return false
    this.#sql.dropLetter.run(place)
    return true
  }

  #letterOf(name: string, place: number): { readonly group: Group; readonly position: number } | undefined {
    const row = this.#sql.letterPlace.get(place)
    const group = row && this.#known.get(Number(row['grp']))
    return group?.name === name ? { group, position: Number(row?.['position']) } : undefined
  }
}

function rowOf(row: Row, letter: number): EventRow {
  return { ...(row as unknown as EventRow), letter }
}

function statements(database: Database) {
  const of = (sql: string) => database.prepare(sql)
  const columns = 'id, name, pattern, ordered, paused, cursor, taken'
  const where = 'where grp = ? and position = ? and letter = ?'
  const content = 'position, published, id, key, headers, body'
  return {
    all: of(`select ${columns} from grp`),
    one: of(`select ${columns} from grp where id = ?`),
    create: of(
      `insert into grp (name, pattern, ordered, paused, cursor, taken) values (?, ?, ?, 0, ?, ?) returning ${columns}`
    ),
    move: of('update grp set cursor = ?, taken = ? where id = ?'),
    pause: of('update grp set paused = ? where id = ?'),
    count: of('select count(*) as count from pending where grp = ?'),
    nextDue: of('select due from pending where grp = ? and due is not null order by due limit 1'),
    due: of(
      'select position, letter, attempt from pending where grp = ? and due <= ? order by due, position, letter limit ?'
    ),
    setBack: of('update pending set due = max(1, due - ?) where due > 0'),
    hold: of(`update pending set due = null, attempt = ? ${where}`),
    begin: of(`update pending set attempt = ? ${where}`),
    back: of(`update pending set attempt = ?, due = ? ${where}`),
    insert: of('insert into pending (grp, position, letter, attempt, due) values (?, ?, ?, ?, ?)'),
    drop: of(`delete from pending ${where}`),
    behind: of(
      'select position, ordinal, size from event where pattern = ? and position > ? order by position limit ?'
    ),
    allBehind: of('select position, pattern, size from event where position > ? order by position limit ?'),
    event: of(
      `select position, published, event.id, key, headers, body, name as pattern from event join pattern on pattern.id = event.pattern where position = ?`
    ),
    letter: of(`select ${content}, pattern from letter where place = ?`),
    letterPlace: of('select grp, position from letter where place = ? and pending = 0'),
    markLetter: of('update letter set pending = 1 where place = ?'),
    dropLetter: of('delete from letter where place = ?'),
    bury: of(
      `insert into letter (grp, position, pattern, published, id, key, headers, body, reason, attempts, died) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
    )
  }
}

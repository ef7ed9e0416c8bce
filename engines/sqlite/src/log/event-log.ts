/** The log of one file: events are added at its end, and deleted at its beginning when they are too old. */
import { NotStoredError } from '@elysia-microservices/transport/kit'
import type { Database, Row, Statement } from '../driver.ts'
import type { Appended, NewEvent } from './event.ts'
import { Later } from './later.ts'
import { Patterns } from './patterns.ts'
import { Transactions } from './transactions.ts'

/** Rows that are deleted in one step, so that the event loop gets its turn; and bytes of events that become due. */
const STEP = 500
const STEP_BYTES = 1024 * 1024

/** How long, and how much, the log keeps. */
export interface Keeping {
  /** Milliseconds for which events are kept; 0: for ever. */
  readonly maxAge: number
  /** Bytes of events that are kept; 0: no limit. */
  readonly maxBytes: number
  /** Milliseconds within which an id is stored once. */
  readonly duplicateWindow: number
}

/** All events of one file. */
export class EventLog {
  readonly patterns: Patterns
  readonly transactions: Transactions
  readonly later: Later
  readonly #keeping: Keeping
  readonly #recent: Statement
  readonly #insert: Statement
  readonly #remember: Statement
  readonly #whole: Statement
  readonly #saveWhole: Statement
  readonly #oldest: Statement
  readonly #delete: Statement
  readonly #forget: Statement
  readonly #timeAt: Statement
  #last = 0
  #bytes = 0
  #deleted = 0

  constructor(database: Database, keeping: Keeping) {
    this.patterns = new Patterns(database)
    this.transactions = new Transactions(database)
    this.later = new Later(database)
    this.#keeping = keeping
    this.#recent = database.prepare(
      'select position from recent where pattern = ? and id = ? and published > ?'
    )
    this.#insert = database.prepare(
      'insert into event (position, pattern, ordinal, published, id, key, headers, body, size) values (?, ?, ?, ?, ?, ?, ?, ?, ?)'
    )
    this.#remember = database.prepare(
      'insert or replace into recent (pattern, id, position, published) values (?, ?, ?, ?)'
    )
    this.#whole = database.prepare('select last, bytes, deleted from whole')
    this.#saveWhole = database.prepare('update whole set last = ?, bytes = ?, deleted = ?')
    this.#oldest = database.prepare(
      `select position, published, size from event order by position limit ${STEP}`
    )
    this.#delete = database.prepare('delete from event where position <= ?')
    this.#forget = database.prepare(
      `delete from recent where (pattern, id) in (select pattern, id from recent where published <= ? order by published limit ${STEP})`
    )
    this.#timeAt = database.prepare(
      'select position, published from event where position >= ? order by position limit 1'
    )
    this.#readWhole()
  }

  /** The position of the last event; 0: there was none. */
  get last(): number {
    return this.#last
  }

  /** All events up to this position are deleted. */
  get deleted(): number {
    return this.#deleted
  }

  /** Bytes of all stored events. */
  get bytes(): number {
    return this.#bytes
  }

  #readWhole(): void {
    const { last, bytes, deleted } = this.#whole.get() as Record<string, unknown>
    this.#last = Number(last)
    this.#bytes = Number(bytes)
    this.#deleted = Number(deleted)
  }

  /** Reads again all that is kept in memory, because a transaction was undone. */
  #undone(): void {
    this.patterns.reload()
    this.#readWhole()
  }

  #saved<Result>(work: () => Result): Result {
    const result = work()
    this.patterns.save()
    this.#saveWhole.run(this.#last, this.#bytes, this.#deleted)
    return result
  }

  /**
   * Stores events together: all that are returned as stored are on the disk. Behind one for which there is no room, no
   * other of its pattern is stored, though it may be smaller: the events of a pattern stay in order.
   * @returns for each event its position, or why it is not stored
   * @throws SQLite's error: then none of them is stored
   */
  append(events: readonly NewEvent[], now: number): (Appended | NotStoredError)[] {
    const full = new Set<string>()
    try {
      return this.transactions.run('disk', () =>
        this.#saved(() => events.map((event) => this.#appendOne(event, now, full)))
      )
    } catch (error) {
      this.#undone()
      throw error
    }
  }

  /** @param full the patterns of which an event before had no room */
  #appendOne(event: NewEvent, now: number, full: Set<string>): Appended | NotStoredError {
    const { pattern: name, id, isOwnId, size, due } = event
    const { maxBytes, duplicateWindow } = this.#keeping
    if (!isOwnId) {
      const known = this.patterns.find(name)
      const same = known && this.#recent.get(known.id, id, now - duplicateWindow)
      if (same !== undefined) return { position: Number(same['position']), isDuplicate: true }
      if (this.later.has(name, id)) return { position: undefined, isDuplicate: true }
    }
    if (full.has(name) || (maxBytes !== 0 && this.#bytes + size > maxBytes)) {
      full.add(name)
      return new NotStoredError(
        `The file keeps ${this.#bytes} bytes of events, and may keep ${maxBytes}: raise options.maxBytes, or shorten options.maxAge`,
        true
      )
    }
    if (due !== undefined) {
      this.later.add(event, due)
      return { position: undefined, isDuplicate: false }
    }
    return { position: this.#put(event, now), isDuplicate: false }
  }

  #put(event: NewEvent, now: number): number {
    const { pattern: name, id, isOwnId, key, headers, body, size } = event
    const pattern = this.patterns.ensure(name)
    const position = ++this.#last
    const ordinal = this.patterns.count(pattern)
    this.#insert.run(position, pattern.id, ordinal, now, id, key ?? null, headers ?? null, body, size)
    if (!isOwnId) this.#remember.run(pattern.id, id, position, now)
    this.#bytes += size
    return position
  }

  /** Moves events whose time has come into the log, at most a step. @returns the patterns that have new events */
  fire(now: number): Set<string> {
    const due = this.later.due(now, STEP, STEP_BYTES)
    const fired = new Set<string>()
    if (due.length === 0) return fired
    this.#change('disk', () => {
      for (const event of due) {
        this.later.remove(event.pattern, event.id)
        this.#put(event, now)
        fired.add(event.pattern)
      }
    })
    return fired
  }

  /** Fires one event that waits, before its time. @returns whether it waited */
  fireNow(pattern: string, id: string, now: number): boolean {
    const event = this.later.find(pattern, id)
    if (event === undefined) return false
    this.#change('disk', () => {
      this.later.remove(pattern, id)
      this.#put(event, now)
    })
    return true
  }

  /** Deletes an event that waits for its time. @returns whether it waited */
  cancel(pattern: string, id: string): boolean {
    if (!this.later.has(pattern, id)) return false
    this.transactions.run('disk', () => this.later.remove(pattern, id))
    return true
  }

  #change(safety: 'disk' | 'process', work: () => void): void {
    try {
      this.transactions.run(safety, () => this.#saved(work))
    } catch (error) {
      this.#undone()
      throw error
    }
  }

  /** Deletes what is too old, at most a step of it. @returns whether there is more */
  prune(now: number): boolean {
    const { maxAge, duplicateWindow } = this.#keeping
    const old = maxAge === 0 ? [] : oldOnes(this.#oldest.all(), now, maxAge)
    const position = Number(old.at(-1)?.['position'] ?? 0)
    this.#change('process', () => {
      this.#forget.run(now - duplicateWindow)
      if (position === 0) return
      this.#delete.run(position)
      this.#bytes -= old.reduce((sum, row) => sum + Number(row['size']), 0)
      this.#deleted = position
    })
    return old.length === STEP
  }

  /** The position behind which the events of a time and later are, found by halving. */
  before(time: number): number {
    let low = this.#deleted
    let high = this.#last
    while (low < high) {
      const middle = Math.floor((low + high) / 2) + 1
      const row = this.#timeAt.get(middle)
      if (row === undefined || Number(row['published']) >= time) high = middle - 1
      else low = Number(row['position'])
    }
    return low
  }
}

/**
 * The events that are too old, of the oldest ones. Clocks are set: an event behind one that is not too old is not either,
 * whatever its time says; one with a time that is to come is as old as the next one.
 */
function oldOnes(oldest: readonly Row[], now: number, maxAge: number): readonly Row[] {
  let count = 0
  for (const [at, row] of oldest.entries()) {
    const published = Number(row['published'])
    if (published <= now - maxAge) count = at + 1
    else if (published <= now) break
  }
  return oldest.slice(0, count)
}

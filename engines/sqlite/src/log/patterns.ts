/** The patterns to which events were published, and how many events each has had. */
import { routeMatches } from '@elysia-microservices/transport/kit'
import type { Database, Statement } from '../driver.ts'

/** One pattern. */
export interface StoredPattern {
  readonly id: number
  readonly name: string
  /** Number of all its events, the deleted ones included. */
  total: number
}

/** The patterns of one file. They are in memory, too: there are as many as patterns in the programs. */
export class Patterns {
  readonly #all: Statement
  readonly #insert: Statement
  readonly #update: Statement
  readonly #firstBehind: Statement
  readonly #byName = new Map<string, StoredPattern>()
  readonly #byId = new Map<number, StoredPattern>()
  readonly #changed = new Set<StoredPattern>()

  constructor(database: Database) {
    this.#all = database.prepare('select id, name, total from pattern')
    this.#insert = database.prepare('insert into pattern (id, name, total) values (?, ?, 0)')
    this.#update = database.prepare('update pattern set total = ? where id = ?')
    this.#firstBehind = database.prepare(
      'select ordinal from event where pattern = ? and position > ? order by position limit 1'
    )
    this.reload()
  }

  /** Reads all from the file, because a transaction was undone. */
  reload(): void {
    this.#byName.clear()
    this.#byId.clear()
    this.#changed.clear()
    for (const { id, name, total } of this.#all.all())
      this.#add({ id: Number(id), name: String(name), total: Number(total) })
  }

  #add(pattern: StoredPattern): StoredPattern {
    this.#byName.set(pattern.name, pattern)
    this.#byId.set(pattern.id, pattern)
    return pattern
  }

  /** A pattern, if something was published to it. */
  find(name: string): StoredPattern | undefined {
    return this.#byName.get(name)
  }

  byId(id: number): StoredPattern {
    return this.#byId.get(id) as StoredPattern
  }

  /** Within a transaction: a pattern, which is created if it is missing. */
  ensure(name: string): StoredPattern {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    const id = this.#byId.size + 1
    this.#insert.run(id, name)
    return this.#add({ id, name, total: 0 })
  }

  /** Within a transaction: counts one more event. `save` writes the new totals. @returns its ordinal */
  count(pattern: StoredPattern): number {
    this.#changed.add(pattern)
    return ++pattern.total
  }

  save(): void {
    for (const { id, total } of this.#changed) this.#update.run(total, id)
    this.#changed.clear()
  }

  /** The patterns of the events that a group gets. */
  matching(wanted: string, isWide: boolean): StoredPattern[] {
    if (isWide) return [...this.#byName.values()].filter(({ name }) => routeMatches(wanted, name))
    const exact = this.#byName.get(wanted)
    return exact === undefined ? [] : [exact]
  }

  /** How many events of some patterns were stored up to a position: found by one look-up for each pattern. */
  countUpTo(position: number, patterns: readonly StoredPattern[]): number {
    let count = 0
    for (const { id, total } of patterns) {
      const next = this.#firstBehind.get(id, position)
      count += next === undefined ? total : Number(next['ordinal']) - 1
    }
    return count
  }
}

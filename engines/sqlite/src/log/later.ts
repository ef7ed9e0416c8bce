/** Events that wait for their time. They are no part of the log: their position is that at which they are published. */
import type { Database, Row, Statement } from '../driver.ts'
import type { NewEvent } from './event.ts'

/** An event that waits. */
export interface LaterEvent extends NewEvent {
  readonly due: number
}

/** The waiting events of one file. The methods that change something run within a transaction. */
export class Later {
  readonly #one: Statement
  readonly #insert: Statement
  readonly #delete: Statement
  readonly #due: Statement
  readonly #next: Statement
  readonly #page: Statement

  constructor(database: Database) {
    const columns = 'pattern, id, due, key, headers, body, size'
    this.#one = database.prepare(`select ${columns} from later where pattern = ? and id = ?`)
    this.#insert = database.prepare(`insert into later (${columns}) values (?, ?, ?, ?, ?, ?, ?)`)
    this.#delete = database.prepare('delete from later where pattern = ? and id = ?')
    this.#due = database.prepare(
      'select pattern, id, size from later where due <= ? order by due, pattern, id limit ?'
    )
    this.#next = database.prepare('select due from later order by due limit 1')
    this.#page = database.prepare(
      `select ${columns} from later where (due, pattern, id) > (?, ?, ?) and pattern = coalesce(?, pattern) order by due, pattern, id limit ?`
    )
  }

  has(pattern: string, id: string): boolean {
    return this.#one.get(pattern, id) !== undefined
  }

  find(pattern: string, id: string): LaterEvent | undefined {
    const row = this.#one.get(pattern, id)
    return row && read(row)
  }

  add({ pattern, id, key, headers, body, size }: NewEvent, due: number): void {
    this.#insert.run(pattern, id, due, key ?? null, headers ?? null, body, size)
  }

  remove(pattern: string, id: string): void {
    this.#delete.run(pattern, id)
  }

  /** Events whose time has come, the earliest first. @param bytes of events, but for one */
  due(now: number, most: number, bytes: number): LaterEvent[] {
    const due: LaterEvent[] = []
    let left = bytes
    for (const { pattern, id, size } of this.#due.all(now, most)) {
      left -= Number(size)
      if (due.length > 0 && left < 0) break
      due.push(read(this.#one.get(pattern as string, id as string) as Row))
    }
    return due
  }

  /** When the next event is due; `undefined`: none waits. */
  get next(): number | undefined {
    const row = this.#next.get()
    return row && Number(row['due'])
  }

  /** Events that wait, the soonest first. @param behind the last one of the page before */
  page(pattern: string | undefined, behind: Row | undefined, most: number): readonly Row[] {
    const { due, pattern: name, id } = behind ?? { due: -1, pattern: '', id: '' }
    return this.#page.all(due as number, name as string, id as string, pattern ?? null, most)
  }
}

function read(row: Row): LaterEvent {
  const { pattern, id, due, key, headers, body, size } = row
  return {
    pattern: String(pattern),
    id: String(id),
    // Other publishers may have chosen the id, and another event may get it.
    isOwnId: false,
    key: key === null ? undefined : String(key),
    headers: headers === null ? undefined : String(headers),
    body: String(body),
    size: Number(size),
    due: Number(due)
  }
}

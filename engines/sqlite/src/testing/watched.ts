/** A database in memory that counts its commits, and whose disk may be full, or gone. */
import { runtimeDriver } from '../connection/runtime.ts'
import type { Database, Row, Value } from '../driver.ts'
import { migrate } from '../log/schema.ts'

export class WatchedDatabase implements Database {
  readonly #database = runtimeDriver(':memory:')
  commits = 0
  isFull = false
  isGone = false

  constructor() {
    migrate(this.#database, ':memory:')
  }

  exec(sql: string): void {
    this.#mustBeThere()
    if (sql === 'commit') {
      if (this.isFull) throw new Error('database or disk is full')
      this.commits++
    }
    this.#database.exec(sql)
  }

  prepare(sql: string): ReturnType<Database['prepare']> {
    const { run, all, get } = this.#database.prepare(sql)
    const there =
      <Done>(act: (...values: readonly Value[]) => Done) =>
      (...values: readonly Value[]): Done => {
        this.#mustBeThere()
        return act(...values)
      }
    return { run: there(run), all: there(all), get: there(get) }
  }

  #mustBeThere(): void {
    if (this.isGone) throw new Error('disk I/O error')
  }

  query(sql: string, ...values: readonly Value[]): readonly Row[] {
    return this.#database.query(sql, ...values)
  }

  close(): void {
    this.#database.close()
  }
}

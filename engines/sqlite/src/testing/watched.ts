/** A database in memory that counts its commits, and whose disk may be full. */
import { runtimeDriver } from '../connection/runtime.ts'
import type { Database, Row, Value } from '../driver.ts'
import { migrate } from '../log/schema.ts'

export class WatchedDatabase implements Database {
  readonly #database = runtimeDriver(':memory:')
  commits = 0
  isFull = false

  constructor() {
    migrate(this.#database, ':memory:')
  }

  exec(sql: string): void {
    if (sql === 'commit') {
      if (this.isFull) throw new Error('database or disk is full')
      this.commits++
    }
    this.#database.exec(sql)
  }

  prepare(sql: string): ReturnType<Database['prepare']> {
    return this.#database.prepare(sql)
  }

  query(sql: string, ...values: readonly Value[]): readonly Row[] {
    return this.#database.query(sql, ...values)
  }

  close(): void {
    this.#database.close()
  }
}

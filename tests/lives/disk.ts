/** One database that outlives the processes that have it open, as a file does. */
import { type Driver, runtimeDriver, type SqliteStore, sqliteBy } from '@elysia-microservices/sqlite/testing'

/** All that a process that has died may ask for. */
const GONE = 'the process has ended'

export class Disk {
  readonly #database = runtimeDriver(':memory:')
  /** Counts the processes. */
  #processes = 0

  /** The present process loses the file. */
  take(): void {
    this.#processes++
  }

  /** The file, for the present process. */
  newFile(): SqliteStore {
    const own = this.#processes
    const alive = <Done>(act: () => Done): Done => {
      if (own !== this.#processes) throw new Error(GONE)
      return act()
    }
    const database = this.#database
    const driver: Driver = () => ({
      exec: (sql) => alive(() => database.exec(sql)),
      prepare(sql) {
        const statement = alive(() => database.prepare(sql))
        return {
          run: (...values) => alive(() => statement.run(...values)),
          all: (...values) => alive(() => statement.all(...values)),
          get: (...values) => alive(() => statement.get(...values))
        }
      },
      query: (sql, ...values) => alive(() => database.query(sql, ...values)),
      close() {}
    })
    return sqliteBy(driver, `process-${own}.db`)
  }
}

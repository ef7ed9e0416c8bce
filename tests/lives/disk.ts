/** One database that outlives the processes that have it open, as a file does. */
import { type Driver, runtimeDriver, sqliteBy } from '@elysia-microservices/sqlite/testing'
import type { Place } from './carrier.ts'

/** All that a process that has died may ask for. */
const GONE = 'the process has ended'

export class Disk {
  /** How often the file is open. */
  open = 0
  readonly #database = runtimeDriver(':memory:')
  /** Counts the processes. */
  #processes = 0
  /** To be done with the commit of the transaction that is open. */
  #committed: (() => void)[] = []

  /** The present process loses the file. */
  take(): void {
    this.#processes++
    this.#committed = []
  }

  /** The file, for the present process. */
  newFile(options: { readonly maxBytes?: number | undefined } = {}): Pick<Place, 'store' | 'transact'> {
    const own = this.#processes
    const alive = <Done>(act: () => Done): Done => {
      if (own !== this.#processes) throw new Error(GONE)
      return act()
    }
    const database = this.#database
    const driver: Driver = () => {
      this.open++
      return {
        exec: (sql) => {
          alive(() => database.exec(sql))
          if (sql === 'commit' || sql === 'rollback') this.#ended(sql)
        },
        prepare(sql) {
          const statement = alive(() => database.prepare(sql))
          return {
            run: (...values) => alive(() => statement.run(...values)),
            all: (...values) => alive(() => statement.all(...values)),
            get: (...values) => alive(() => statement.get(...values))
          }
        },
        query: (sql, ...values) => alive(() => database.query(sql, ...values)),
        close: () => void this.open--
      }
    }
    const store = sqliteBy(driver, `process-${own}.db`, options)
    const transact: Place['transact'] = (delivery, work) =>
      store.transaction(delivery, () => work((act) => void this.#committed.push(act)))
    return { store, transact }
  }

  /** The number of events that were stored before a time, in milliseconds since 1970. */
  storedBefore(time: number): number {
    const found = this.#database.prepare('select count(*) as count from event where published < ?').get(time)
    return Number((found as { readonly count: unknown }).count)
  }

  #ended(how: 'commit' | 'rollback'): void {
    const acts = this.#committed
    this.#committed = []
    if (how === 'commit') for (const act of acts) act()
  }
}

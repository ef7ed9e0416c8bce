/** Transactions on one file, and how safe each is. */
import type { Database } from '../driver.ts'

/**
 * `'disk'`: it survives a loss of power, because SQLite waits for the disk: what a publisher was told is stored.
 * `'process'`: it survives the end of this process. What a loss of power takes back is delivered again.
 */
export type Safety = 'disk' | 'process'

const SYNCHRONOUS = { disk: 'full', process: 'normal' } as const

/** Runs one transaction after the other. */
export class Transactions {
  readonly #database: Database
  #safety: Safety | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** Does the work in one transaction; an error undoes all of it, and is thrown. */
  run<Result>(safety: Safety, work: () => Result): Result {
    const database = this.#database
    if (this.#safety !== safety) {
      database.exec(`pragma synchronous = ${SYNCHRONOUS[safety]}`)
      this.#safety = safety
    }
    database.exec('begin immediate')
    try {
      const result = work()
      database.exec('commit')
      return result
    } catch (error) {
      // SQLite itself has ended the transaction after some errors, such as a full disk.
      try {
        database.exec('rollback')
      } catch {}
      throw error
    }
  }
}

/** The dead letters of a group, as operators see them. */
import { deadLetterOf } from '@elysia-microservices/engine'
import type { DeadLetter } from '@elysia-microservices/transport/kit'
import type { Database, Statement } from '../driver.ts'

/** Reads dead letters; `Groups` changes them. */
export class Letters {
  readonly #page: Statement

  constructor(database: Database) {
    this.#page = database.prepare(
      'select place, letter.pattern, letter.id, key, headers, body, reason, attempts, published, died from letter join grp on grp.id = letter.grp where grp.name = ? and pending = 0 and place >= ? order by place limit ?'
    )
  }

  /** The dead letters of a group from a place on. @param most their number */
  page(group: string, from: number, most: number): DeadLetter[] {
    return this.#page.all(group, from, most).map((row) => deadLetterOf(group, row))
  }
}

/** The dead letters of a group, as operators see them. */
import { patternOf, readableContentOf } from '@elysia-microservices/engine'
import { type DeadLetter, dateOf } from '@elysia-microservices/transport/kit'
import type { Database, Row, Statement } from '../driver.ts'
import { headersIn } from './event.ts'

/** Dead letters that are read at a time. */
export const PAGE = 100

/** Reads dead letters; `Groups` changes them. */
export class Letters {
  readonly #page: Statement

  constructor(database: Database) {
    this.#page = database.prepare(
      'select place, name, letter.pattern, letter.id as id_of, key, headers, body, reason, attempts, published, died from letter join grp on grp.id = letter.grp where grp.name = ? and pending = 0 and place >= ? order by place limit ?'
    )
  }

  /** The dead letters of a group from a place on. @param most their number */
  page(group: string, from: number, most: number): DeadLetter[] {
    return this.#page.all(group, from, most).map(read)
  }
}

function read(row: Row): DeadLetter {
  const text = (name: string) => String(row[name])
  const content = readableContentOf(text('body'))
  return {
    position: text('place'),
    group: text('name'),
    pattern: patternOf(content.pattern, text('pattern')),
    id: text('id_of'),
    key: row['key'] === null ? undefined : text('key'),
    reason: text('reason'),
    attempts: Number(row['attempts']),
    headers: headersIn(row['headers'] as string | null) ?? {},
    data: content.data,
    publishedAt: dateOf(Number(row['published'])),
    diedAt: dateOf(Number(row['died']))
  }
}

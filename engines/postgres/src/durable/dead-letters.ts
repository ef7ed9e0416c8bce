/** The dead letters of one group in the database. */
import { patternOf, readableContentOf } from '@elysia-microservices/engine'
import type { Row } from '@elysia-microservices/outbox/database'
import {
  type DeadLetter,
  type DeadLetters,
  dateOf,
  type ListDeadLettersOptions
} from '@elysia-microservices/transport/kit'
import type { Tables } from '../connection/tables.ts'
import { headersIn } from './event.ts'

/** Dead letters that are read at a time. */
const PAGE = 100

/** Reads and changes dead letters; nothing is kept in memory. */
export class PostgresDeadLetters implements DeadLetters {
  readonly #group: string
  readonly #tables: () => Promise<Tables>

  constructor(group: string, tables: () => Promise<Tables>) {
    this.#group = group
    this.#tables = tables
  }

  async *list({ limit = Number.POSITIVE_INFINITY }: ListDeadLettersOptions = {}): AsyncGenerator<DeadLetter> {
    let from = '1'
    for (let left = limit; left > 0; ) {
      const wanted = Math.min(PAGE, left)
      const page = await (await this.#tables()).letters(this.#group, from, wanted)
      for (const row of page) {
        yield this.#read(row)
        from = String(BigInt(String(row['place'])) + 1n)
      }
      left -= page.length
      if (page.length < wanted) return
    }
  }

  async get(position: string): Promise<DeadLetter | undefined> {
    if (!isPlace(position)) return undefined
    const [row] = await (await this.#tables()).letters(this.#group, position, 1)
    return row?.['place'] === position ? this.#read(row) : undefined
  }

  async redrive(position: string): Promise<boolean> {
    return isPlace(position) && (await this.#tables()).redrive(this.#group, position)
  }

  async discard(position: string): Promise<boolean> {
    return isPlace(position) && (await this.#tables()).discard(this.#group, position)
  }

  #read(row: Row): DeadLetter {
    const text = (name: string) => String(row[name])
    const content = readableContentOf(text('body'))
    return {
      position: text('place'),
      group: this.#group,
      pattern: patternOf(content.pattern, text('pattern')),
      id: text('id'),
      key: row['key'] === null ? undefined : text('key'),
      reason: text('reason'),
      attempts: Number(row['attempts']),
      headers: headersIn(row['headers'] as string | null) ?? {},
      data: content.data,
      publishedAt: dateOf(Number(row['published'])),
      diedAt: dateOf(Number(row['died']))
    }
  }
}

function isPlace(position: string): boolean {
  return /^[1-9]\d{0,17}$/.test(position)
}

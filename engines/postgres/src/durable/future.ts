/** The events of the future in the database. */
import { readableContentOf } from '@elysia-microservices/engine'
import {
  dateOf,
  type FutureEvents,
  type ListWaitingOptions,
  type Pattern,
  routeOf,
  type WaitingEvent
} from '@elysia-microservices/transport/kit'
import type { Tables } from '../connection/tables.ts'
import { headersIn } from './event.ts'

/** Events that are read at a time. */
const PAGE = 100

/** Reads and changes events that wait; nothing is kept in memory. */
export class PostgresFuture implements FutureEvents {
  readonly #tables: () => Promise<Tables>

  constructor(tables: () => Promise<Tables>) {
    this.#tables = tables
  }

  async cancel(pattern: Pattern, id: string): Promise<boolean> {
    return (await this.#tables()).cancel(routeOf(pattern), id)
  }

  async fire(pattern: Pattern, id: string): Promise<boolean> {
    return (await this.#tables()).fire(routeOf(pattern), id)
  }

  async *list({
    pattern,
    limit = Number.POSITIVE_INFINITY
  }: ListWaitingOptions = {}): AsyncGenerator<WaitingEvent> {
    const route = pattern === undefined ? null : routeOf(pattern)
    let behind: readonly [string, string, string] = ['-1', '', '']
    for (let left = limit; left > 0; ) {
      const wanted = Math.min(PAGE, left)
      const page = await (await this.#tables()).later(route, behind, wanted)
      for (const row of page) {
        const [due, name, id] = [String(row['due']), String(row['pattern']), String(row['id'])]
        yield {
          pattern: name,
          id,
          key: row['key'] === null ? undefined : String(row['key']),
          at: dateOf(Math.round(Number(due))),
          headers: headersIn(row['headers'] as string | null) ?? {},
          data: readableContentOf(String(row['body'])).data
        }
        behind = [due, name, id]
      }
      left -= page.length
      if (page.length < wanted) return
    }
  }
}

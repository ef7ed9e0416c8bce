/** The events of the future in the database. */
import { inPages, type StoredRow, waitingEvent } from '@elysia-microservices/engine'
import {
  type FutureEvents,
  type ListWaitingOptions,
  type Pattern,
  routeOf,
  type WaitingEvent
} from '@elysia-microservices/transport/kit'
import type { Tables } from '../connection/tables.ts'

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

  async *list({ pattern, limit }: ListWaitingOptions = {}): AsyncGenerator<WaitingEvent> {
    const route = pattern === undefined ? null : routeOf(pattern)
    const read = async (behind: StoredRow | undefined, most: number) =>
      (await this.#tables()).later(route, behind, most)
    for await (const row of inPages(limit, read)) yield waitingEvent(row)
  }
}

/** The events of the future in the file. */
import { readableContentOf } from '@elysia-microservices/engine'
import {
  dateOf,
  type FutureEvents,
  type ListWaitingOptions,
  type Pattern,
  routeOf,
  type WaitingEvent
} from '@elysia-microservices/transport/kit'
import type { EventFile } from '../connection/event-file.ts'
import { headersOf, type LaterEvent } from '../log/later.ts'

/** Events that are read at a time. */
const PAGE = 100

/** Reads and changes events that wait; nothing is kept in memory. */
export class SqliteFuture implements FutureEvents {
  readonly #file: () => Promise<EventFile>

  constructor(file: () => Promise<EventFile>) {
    this.#file = file
  }

  async cancel(pattern: Pattern, id: string): Promise<boolean> {
    return (await this.#file()).log.cancel(routeOf(pattern), id)
  }

  async fire(pattern: Pattern, id: string): Promise<boolean> {
    return (await this.#file()).fireNow(routeOf(pattern), id)
  }

  async *list({
    pattern,
    limit = Number.POSITIVE_INFINITY
  }: ListWaitingOptions = {}): AsyncGenerator<WaitingEvent> {
    const route = pattern === undefined ? undefined : routeOf(pattern)
    let count = 0
    for (let page: LaterEvent[] | undefined; page === undefined || page.length === PAGE; ) {
      page = (await this.#file()).log.later.page(page?.at(-1), PAGE)
      for (const event of page) {
        if (route !== undefined && event.pattern !== route) continue
        if (++count > limit) return
        yield shown(event)
      }
    }
  }
}

function shown(event: LaterEvent): WaitingEvent {
  const { pattern, id, key, due, body } = event
  return {
    pattern,
    id,
    key,
    at: dateOf(due),
    headers: headersOf(event) ?? {},
    data: readableContentOf(body).data
  }
}

/** The events of the future in the file. */
import { inPages, waitingEvent } from '@elysia-microservices/engine'
import {
  type FutureEvents,
  type ListWaitingOptions,
  type Pattern,
  routeOf,
  type WaitingEvent
} from '@elysia-microservices/transport/kit'
import type { EventFile } from '../connection/event-file.ts'
import type { Row } from '../driver.ts'

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

  async *list({ pattern, limit }: ListWaitingOptions = {}): AsyncGenerator<WaitingEvent> {
    const route = pattern === undefined ? undefined : routeOf(pattern)
    const read = async (behind: Row | undefined, most: number) =>
      (await this.#file()).log.later.page(route, behind, most)
    for await (const row of inPages(limit, read)) yield waitingEvent(row)
  }
}

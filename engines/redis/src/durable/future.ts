/** The events of the future in Redis. */
import { inPages, merged, waitingEvent } from '@elysia-microservices/engine'
import {
  type FutureEvents,
  type ListWaitingOptions,
  type Pattern,
  routeOf,
  type WaitingEvent
} from '@elysia-microservices/transport/kit'
import type { Awaited, DriverStore } from '../driver.ts'
import { readableError } from './errors.ts'
import { fieldsIn } from './event.ts'

/** Reads and changes events that wait; nothing is kept in memory. */
export class RedisFuture implements FutureEvents {
  readonly #store: () => Promise<DriverStore>

  constructor(store: () => Promise<DriverStore>) {
    this.#store = store
  }

  now(): Promise<number> {
    return this.#ask((store) => store.time())
  }

  cancel(pattern: Pattern, id: string): Promise<boolean> {
    return this.#ask((store) => store.cancel(routeOf(pattern), id))
  }

  fire(pattern: Pattern, id: string): Promise<boolean> {
    return this.#ask((store) => store.hasten(routeOf(pattern), id))
  }

  async *list({
    pattern,
    limit = Number.POSITIVE_INFINITY
  }: ListWaitingOptions = {}): AsyncGenerator<WaitingEvent> {
    const patterns =
      pattern === undefined ? Object.keys(await this.#ask((store) => store.patterns())) : [routeOf(pattern)]
    const lists = patterns.map((route) => this.#listOf(route, limit))
    let left = limit
    for await (const event of merged(lists, (one, other) => one.at.getTime() - other.at.getTime())) {
      if (left-- <= 0) return
      yield event
    }
  }

  async *#listOf(route: string, limit: number): AsyncGenerator<WaitingEvent> {
    const read = (behind: Awaited | undefined, most: number) =>
      this.#ask((store) => store.awaited(route, behind, most))
    for await (const { id, due, fields } of inPages(limit, read)) {
      const { packet = '', key = null, headers = null } = fieldsIn(fields)
      yield waitingEvent({ pattern: route, id, due, key, headers, body: packet })
    }
  }

  async #ask<Answer>(ask: (store: DriverStore) => Promise<Answer>): Promise<Answer> {
    const store = await this.#store()
    try {
      return await ask(store)
    } catch (error) {
      throw readableError(error, 'the events that wait')
    }
  }
}

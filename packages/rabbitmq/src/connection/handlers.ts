/** Chooses the handlers of a service that receive a message if several of its patterns match one route. */
import type { Subject } from '@elysia-microservices/transport/engine'
import { routeMatches } from '@elysia-microservices/transport/kit'

/** Routes whose handlers are remembered; limited, because callers choose the routes. */
const MAX_REMEMBERED = 1_024

/**
 * If patterns with wildcards overlap, several queues of one service get the same message. Exactly one of them handles
 * it: the same in all processes of the service.
 */
export class Overlapping {
  readonly #exact: ReadonlySet<string>
  readonly #wild: readonly Subject[]

  constructor(subject: Subject, all: readonly Subject[]) {
    const { queue, isExact } = subject
    // Handlers without wildcards come first. Handlers without a queue always count.
    const before = isExact || queue === undefined ? [] : all.filter((one) => one.queue === queue)
    this.#exact = new Set(before.filter((one) => one.isExact).map(({ address }) => address))
    this.#wild = before.slice(0, Math.max(0, before.indexOf(subject))).filter((one) => !one.isExact)
  }

  isFirst(route: string): boolean {
    return !this.#exact.has(route) && !this.#wild.some(({ address }) => routeMatches(address, route))
  }
}

/** Finds the handlers of a service for a route, if the message came through a queue for all patterns. */
export class Handling {
  readonly #subjects: readonly Subject[]
  readonly #remembered = new Map<string, readonly Subject[]>()

  constructor(subjects: readonly Subject[]) {
    this.#subjects = subjects
  }

  /** One subject of each queue, and all subjects without a queue. */
  of(route: string): readonly Subject[] {
    const known = this.#remembered.get(route)
    if (known !== undefined) return known
    const matching = this.#subjects.filter(({ address }) => routeMatches(address, route))
    const queues = new Set<string>()
    const chosen = matching.filter(({ queue }) => {
      if (queue === undefined) return true
      const isNew = !queues.has(queue)
      queues.add(queue)
      return isNew
    })
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(route, chosen)
    return chosen
  }
}

/**
 * The processes of our services, by the messages that they take. Redis gives a message to everybody who has subscribed
 * to its channel; so each process has channels of its own, and the caller chooses one. Redis itself knows the channels
 * that live.
 */
import { bySpecificity, hasWildcards, routeMatches } from '@elysia-microservices/transport/kit'
import { type Change, globHears, globOf, type Place, readPlace } from '../words/channels.ts'

/** Routes that are remembered; bounded, because patterns may be made at run time. */
const MAX_REMEMBERED = 1_024
/** Channels of processes that are known: more would be a stranger's. */
const MAX_PLACES = 262_144

/** The receivers of a route. */
interface Known {
  /** Processes that answer its requests, by its most specific pattern. */
  readonly answering: Place[]
  /** Queues that take its events, each with its processes. */
  readonly queues: readonly Place[][]
  turn: number
}

/** The processes that one caller knows. */
export class Directory {
  #places: Place[] = []
  readonly #routes = new Map<string, Known>()

  /** @param channels all that live */
  update(channels: readonly string[]): void {
    this.#places = channels.map(readPlace).filter((place) => place !== undefined)
    this.#routes.clear()
  }

  /** Processes have come, or go. */
  change({ isThere, channels }: Change): void {
    const named = new Set(channels)
    this.#places = this.#places.filter(({ channel }) => !named.has(channel))
    if (isThere && this.#places.length + named.size <= MAX_PLACES)
      this.#places.push(...[...named].map(readPlace).filter((place) => place !== undefined))
    this.#routes.clear()
  }

  /** Our subscriptions that hear what Nest's clients send to a route, each by a name of its own. */
  hearing(route: string): ReadonlySet<string> {
    const all = new Set<string>()
    for (const { id, pattern } of this.#places)
      if (hasWildcards(pattern) ? globHears(pattern, route) : pattern === route)
        all.add(`${id} ${hasWildcards(pattern) ? globOf(pattern) : pattern}`)
    return all
  }

  /** Nobody listens there any more. */
  remove({ id }: Place): void {
    this.#places = this.#places.filter((place) => place.id !== id)
    this.#routes.clear()
  }

  /** The process whose turn it is to take a request; `undefined`: there is none. */
  next(route: string): Place | undefined {
    const known = this.#of(route)
    return known.answering[known.turn++ % known.answering.length]
  }

  /** The receivers of an event: for each queue its processes, beginning with the one whose turn it is. */
  queuesOf(route: string): readonly (readonly Place[])[] {
    const known = this.#of(route)
    const turn = known.turn++
    return known.queues.map((members) => {
      const first = turn % members.length
      return [...members.slice(first), ...members.slice(0, first)]
    })
  }

  #of(route: string): Known {
    const remembered = this.#routes.get(route)
    if (remembered !== undefined) return remembered
    const places = this.#places.filter(({ pattern }) => routeMatches(pattern, route))
    const known = { answering: answering(places), queues: queues(places), turn: 0 }
    // Callers that begin together do not all begin with the same process.
    known.turn = Math.floor(Math.random() * Math.max(known.answering.length, 1))
    if (this.#routes.size >= MAX_REMEMBERED) this.#routes.clear()
    this.#routes.set(route, known)
    return known
  }
}

function answering(places: readonly Place[]): Place[] {
  const able = places
    .filter(({ answers }) => answers)
    .sort((a, b) => rank(a) - rank(b) || bySpecificity(a.pattern, b.pattern))
  const [best] = able
  return able.filter((place) => place.pattern === best?.pattern && rank(place) === rank(best))
}

/** Handlers of requests have a queue; handlers of events that every process gets have none. */
function rank({ queue }: Place): number {
  return queue === '' ? 1 : 0
}

/** One process of each queue, and every process without one: once for each of its patterns, and it decides which counts. */
function queues(places: readonly Place[]): Place[][] {
  const byQueue = new Map<string, Map<string, Place>>()
  for (const place of places) {
    const key = place.queue === '' ? `:${place.channel}` : place.queue
    const members = byQueue.get(key) ?? new Map<string, Place>()
    if (!members.has(place.id)) members.set(place.id, place)
    byQueue.set(key, members)
  }
  return [...byQueue.values()].map((members) => [...members.values()])
}

/**
 * The processes of all services, and the messages that each receives. Redis delivers a message to every subscriber of
 * a channel. So each process has channels of its own, and the caller chooses a process. Redis itself lists the
 * channels that exist.
 */
import { bySpecificity, hasWildcards, routeMatches } from '@elysia-microservices/transport/kit'
import { type Change, globHears, globOf, type Place, readPlace } from '../words/channels.ts'

/** Routes that are remembered; limited, because patterns may be created at run time. */
const MAX_REMEMBERED = 1_024
/** Channels of processes that are remembered: a larger number could only come from a stranger. */
const MAX_PLACES = 262_144

/** The receivers of a route. */
interface Known {
  /** The processes that answer requests of the route, by its most specific pattern. */
  readonly answering: Place[]
  /** The queues that receive events of the route, each with its processes. */
  readonly queues: readonly Place[][]
  turn: number
}

/** The processes that one caller knows. */
export class Directory {
  #places: Place[] = []
  readonly #routes = new Map<string, Known>()

  /** @param channels the names of all channels that exist */
  update(channels: readonly string[]): void {
    this.#places = channels.map(readPlace).filter((place) => place !== undefined)
    this.#routes.clear()
  }

  /** Applies that processes have started or are stopping. */
  change({ isThere, channels }: Change): void {
    const named = new Set(channels)
    this.#places = this.#places.filter(({ channel }) => !named.has(channel))
    if (isThere && this.#places.length + named.size <= MAX_PLACES)
      this.#places.push(...[...named].map(readPlace).filter((place) => place !== undefined))
    this.#routes.clear()
  }

  /** The subscriptions of this library's services that receive what NestJS clients publish to a route. */
  hearing(route: string): ReadonlySet<string> {
    const all = new Set<string>()
    for (const { id, pattern } of this.#places)
      if (hasWildcards(pattern) ? globHears(pattern, route) : pattern === route)
        all.add(`${id} ${hasWildcards(pattern) ? globOf(pattern) : pattern}`)
    return all
  }

  /** Removes a subscription at which nobody listens any more. */
  remove({ id }: Place): void {
    this.#places = this.#places.filter((place) => place.id !== id)
    this.#routes.clear()
  }

  /** The next process in turn that takes a request; `undefined`: there is none. */
  next(route: string): Place | undefined {
    const known = this.#of(route)
    return known.answering[known.turn++ % known.answering.length]
  }

  /** The receivers of an event: for each queue its processes, beginning with the next in turn. */
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
    // A random start, so that callers that start together do not all begin with the same process.
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

/** Sorts handlers of requests, which have a queue, in front of event handlers for all processes, which have none. */
function rank({ queue }: Place): number {
  return queue === '' ? 1 : 0
}

/**
 * Groups subscriptions by queue. A process without a queue is a group of its own; it is listed once for each of its
 * patterns, and chooses the handler itself.
 */
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

/**
 * What a service subscribes to. NATS delivers a message once to every queue group, whichever of the group's
 * subscriptions match, and to every matching subscription without a group. So a service may get a message several times,
 * perhaps in several of its processes; here is decided, in the same way in all, which time counts.
 */
import { bySpecificity, hasWildcards, type Route, routeMatches } from '@elysia-microservices/transport/kit'
import { subjectOfHandler } from './subjects.ts'

/** One subscription of a service, with its figures. */
export class Endpoint {
  readonly subject: string
  /** The queue group; `undefined`: every process gets every message. */
  readonly queue: string | undefined
  /** What callers may know of its handler. */
  readonly facts: Route['facts']
  /** It has no wildcards: all that comes is for its subject. */
  readonly isExact: boolean
  requests = 0
  errors = 0
  /** Milliseconds between requests and the ends of their answers, together. */
  time = 0
  lastError: string | undefined

  constructor(subject: string, queue: string | undefined, facts?: Route['facts']) {
    this.subject = subject
    this.queue = queue
    this.facts = facts
    this.isExact = !hasWildcards(subject)
  }
}

/** Chosen endpoints that are remembered; bounded, because callers choose subjects. */
const MAX_REMEMBERED = 1024

/** The subscriptions of a service. */
export class Endpoints {
  readonly all: readonly Endpoint[]
  /** Every message matches one endpoint only. */
  readonly #isPlain: boolean
  readonly #byKind: Readonly<Record<Route['kind'], readonly Endpoint[]>>
  readonly #chosen = new Map<string, Endpoint | undefined>()

  /**
   * @param queues the queue group for each kind of handlers
   * @throws {OptionError} NATS has no subject for a pattern
   */
  constructor(routes: readonly Route[], queues: Readonly<Record<Route['kind'], string | undefined>>) {
    const byKey = new Map<string, Endpoint>()
    const byKind = { message: new Set<Endpoint>(), event: new Set<Endpoint>() }
    for (const { kind, route, facts } of routes) {
      const subject = subjectOfHandler(route)
      const queue = queues[kind]
      const key = `${subject} ${queue ?? ''}`
      const endpoint = byKey.get(key) ?? new Endpoint(subject, queue, facts)
      byKey.set(key, endpoint)
      byKind[kind].add(endpoint)
    }
    this.all = [...byKey.values()]
    const sorted = (endpoints: Set<Endpoint>) =>
      [...endpoints].sort((a, b) => bySpecificity(a.subject, b.subject))
    this.#byKind = { message: sorted(byKind.message), event: sorted(byKind.event) }
    const subjects = new Set(this.all.map(({ subject }) => subject))
    this.#isPlain = subjects.size === this.all.length && this.all.every(({ isExact }) => isExact)
  }

  /** Whether the service answers requests for a subject. */
  answers(subject: string): boolean {
    return this.#choose(subject, 'message') !== undefined
  }

  /**
   * The endpoint of a message that has come for one; `undefined`: it comes for another, too, and is handled there, or it
   * is a request that only handlers of many events get, and another service answers.
   */
  of(received: Endpoint, subject: string, kind: Route['kind']): Endpoint | undefined {
    if (this.#isPlain) return received
    const key = `${kind} ${subject}`
    let chosen = this.#chosen.get(key)
    if (chosen === undefined && !this.#chosen.has(key)) {
      if (this.#chosen.size >= MAX_REMEMBERED) this.#chosen.clear()
      chosen = this.#choose(subject, kind)
      this.#chosen.set(key, chosen)
    }
    if (chosen === undefined) return undefined
    const isOnce = received.queue === undefined ? received === chosen : received.queue === chosen.queue
    return isOnce ? chosen : undefined
  }

  /**
   * A request goes to message handlers before event handlers of just its subject, an event to all event handlers before
   * message handlers, as in the dispatcher.
   */
  #choose(subject: string, kind: Route['kind']): Endpoint | undefined {
    const { message, event } = this.#byKind
    const inOrder =
      kind === 'message' ? [...message, ...event.filter(({ isExact }) => isExact)] : [...event, ...message]
    return inOrder.find((endpoint) => routeMatches(endpoint.subject, subject))
  }
}

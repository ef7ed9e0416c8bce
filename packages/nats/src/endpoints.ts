/**
 * What a service subscribes to. NATS delivers a message to every subscription that matches, so a service with `a.*` and
 * `a.>` gets it twice, perhaps in two of its processes; one of them is chosen here, the same one in all.
 */
import type { Route } from '@elysia-microservices/transport/kit'
import { bySpecificity, hasWildcards, matches, subjectOfHandler } from './subjects.ts'

/** One subscription of a service, with its figures. */
export class Endpoint {
  readonly subject: string
  /** The queue group; `undefined`: every process gets every message. */
  readonly queue: string | undefined
  requests = 0
  errors = 0
  /** Milliseconds between requests and the ends of their answers, together. */
  time = 0
  lastError: string | undefined

  constructor(subject: string, queue: string | undefined) {
    this.subject = subject
    this.queue = queue
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
  readonly #chosen = new Map<string, Endpoint>()

  /**
   * @param queues the queue group for each kind of handlers
   * @throws {OptionError} NATS has no subject for a pattern
   */
  constructor(routes: readonly Route[], queues: Readonly<Record<Route['kind'], string | undefined>>) {
    const byKey = new Map<string, Endpoint>()
    const byKind = { message: new Set<Endpoint>(), event: new Set<Endpoint>() }
    for (const { kind, route } of routes) {
      const subject = subjectOfHandler(route)
      const queue = queues[kind]
      const key = `${subject} ${queue ?? ''}`
      const endpoint = byKey.get(key) ?? new Endpoint(subject, queue)
      byKey.set(key, endpoint)
      byKind[kind].add(endpoint)
    }
    this.all = [...byKey.values()]
    const sorted = (endpoints: Set<Endpoint>) =>
      [...endpoints].sort((a, b) => bySpecificity(a.subject, b.subject))
    this.#byKind = { message: sorted(byKind.message), event: sorted(byKind.event) }
    const subjects = new Set(this.all.map(({ subject }) => subject))
    this.#isPlain =
      subjects.size === this.all.length && !this.all.some(({ subject }) => hasWildcards(subject))
  }

  /** Whether a message that came for an endpoint is to be handled there: of all that match, it is the chosen one. */
  isFor(endpoint: Endpoint, subject: string, kind: Route['kind']): boolean {
    if (this.#isPlain) return true
    const key = `${kind} ${subject}`
    let chosen = this.#chosen.get(key)
    if (chosen === undefined) {
      if (this.#chosen.size >= MAX_REMEMBERED) this.#chosen.clear()
      chosen = this.#choose(subject, kind)
      this.#chosen.set(key, chosen ?? endpoint)
    }
    return chosen === undefined || chosen === endpoint
  }

  /** A request goes to message handlers before event handlers, an event the other way round, as in the dispatcher. */
  #choose(subject: string, kind: Route['kind']): Endpoint | undefined {
    const { message, event } = this.#byKind
    const inOrder = kind === 'message' ? [...message, ...event] : [...event, ...message]
    return inOrder.find((endpoint) => matches(endpoint.subject, subject))
  }
}

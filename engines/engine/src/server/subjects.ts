/**
 * The subscriptions of a service. An engine delivers a message once to every queue, even if several subscriptions of
 * the queue match, and once to every matching subscription without a queue. So a service may get a message several
 * times, perhaps in several of its processes. This file decides which of these deliveries counts; all processes decide
 * in the same way.
 */
import { type Route, routeMatches, SEGMENTS, type Wildcards } from '@elysia-microservices/transport/kit'

/** One subscription of a service, with its figures. */
export class Subject {
  readonly address: string
  /** The queue whose members share the messages; `undefined`: every process gets every message. */
  readonly queue: string | undefined
  /** Facts about the handler that callers may know. See `Route`. */
  readonly facts: Route['facts']
  /** The address has no wildcards, so every message of the subscription is for this address. */
  readonly isExact: boolean
  /**
   * The subject may get requests: its handlers are message handlers, or event handlers whose address has no wildcards.
   */
  answers: boolean
  requests = 0
  errors = 0
  /** Sum of the milliseconds from each request to the end of its answer. */
  time = 0

  constructor(
    address: string,
    queue: string | undefined,
    facts?: Route['facts'],
    wildcards: Wildcards = SEGMENTS
  ) {
    this.address = address
    this.queue = queue
    this.facts = facts
    this.isExact = !wildcards.has(address)
    this.answers = this.isExact
  }

  /**
   * Counts a request or an event that has ended.
   * @param startedAt in milliseconds of `performance.now()`
   */
  count(startedAt: number, hasFailed: boolean): void {
    this.requests++
    this.time += performance.now() - startedAt
    if (hasFailed) this.errors++
  }
}

/** The address to which a message of a subject was published. */
export function addressOfMessage(
  { isExact, address }: Subject,
  message: { readonly address: string }
): string {
  // The address is only read if needed, because the engine may have to decode the address.
  return isExact ? address : message.address
}

/** Most addresses for which the choice is remembered; limited, because callers choose addresses. */
const MAX_REMEMBERED = 1024

/** The subscriptions of a service. */
export class Subjects {
  readonly all: readonly Subject[]
  /** No two subjects match the same message, so no choice is necessary. */
  readonly #isPlain: boolean
  readonly #byKind: Readonly<Record<Route['kind'], readonly Subject[]>>
  readonly #wildcards: Wildcards
  readonly #chosen = new Map<string, Subject | undefined>()

  /**
   * @param addressOf the address of a handler's route
   * @param queues the queue for each kind of handlers
   * @param wildcards the syntax of patterns with wildcards
   * @throws {OptionError} the engine has no address for a pattern
   */
  constructor(
    routes: readonly Route[],
    addressOf: (route: string | undefined) => string,
    queues: Readonly<Record<Route['kind'], string | undefined>>,
    wildcards: Wildcards = SEGMENTS
  ) {
    this.#wildcards = wildcards
    const byKey = new Map<string, Subject>()
    const byKind = { message: new Set<Subject>(), event: new Set<Subject>() }
    for (const { kind, route, facts } of routes) {
      const address = addressOf(route)
      const queue = queues[kind]
      const key = `${address} ${queue ?? ''}`
      const subject = byKey.get(key) ?? new Subject(address, queue, facts, wildcards)
      if (kind === 'message') subject.answers = true
      byKey.set(key, subject)
      byKind[kind].add(subject)
    }
    this.all = [...byKey.values()]
    const sorted = (subjects: Set<Subject>) =>
      [...subjects].sort((a, b) => wildcards.compare(a.address, b.address))
    this.#byKind = { message: sorted(byKind.message), event: sorted(byKind.event) }
    const addresses = new Set(this.all.map(({ address }) => address))
    this.#isPlain = addresses.size === this.all.length && this.all.every(({ isExact }) => isExact)
  }

  /** Whether the service answers requests at an address. */
  answers(address: string): boolean {
    return this.#choose(address, 'message') !== undefined
  }

  /**
   * Returns the subject that must handle a message which one subject has received. `undefined` in two cases: another
   * subject receives the message as well and handles it, or the message is a request, the subject has only event
   * handlers with wildcards, and another service answers.
   */
  of(received: Subject, address: string, kind: Route['kind']): Subject | undefined {
    if (this.#isPlain) return received
    const key = `${kind} ${address}`
    let chosen = this.#chosen.get(key)
    if (chosen === undefined && !this.#chosen.has(key)) {
      if (this.#chosen.size >= MAX_REMEMBERED) this.#chosen.clear()
      chosen = this.#choose(address, kind)
      this.#chosen.set(key, chosen)
    }
    if (chosen === undefined) return undefined
    if (this.#wildcards.isEachAlone) {
      const isItsOwn = received === chosen || (kind === 'event' && this.#byKind.event.includes(received))
      return isItsOwn ? received : undefined
    }
    const isOnce = received.queue === undefined ? received === chosen : received.queue === chosen.queue
    return isOnce ? chosen : undefined
  }

  /**
   * Chooses as the dispatcher does: a request goes to message handlers before event handlers of exactly its address, an
   * event to all event handlers before message handlers.
   */
  #choose(address: string, kind: Route['kind']): Subject | undefined {
    const { message, event } = this.#byKind
    const inOrder =
      kind === 'message' ? [...message, ...event.filter(({ isExact }) => isExact)] : [...event, ...message]
    return inOrder.find((subject) => this.#wildcards.match(subject.address, address))
  }
}

/**
 * Chooses the subjects that handle a message, for an engine that delivers the message once for each matching pattern
 * with segments.
 */
export class OncePerQueue {
  readonly #inOrder: readonly Subject[]
  readonly #chosen = new Map<string, readonly Subject[]>()

  constructor(subjects: readonly Subject[]) {
    // The same order in all processes of the service: subjects without wildcards first.
    this.#inOrder = [...subjects].sort((a, b) => Number(b.isExact) - Number(a.isExact))
  }

  /** One subject of each queue, and all subjects without a queue. */
  of(route: string): readonly Subject[] {
    const known = this.#chosen.get(route)
    if (known !== undefined) return known
    const queues = new Set<string>()
    const chosen = this.#inOrder.filter(({ address, queue }) => {
      if (!routeMatches(address, route)) return false
      if (queue === undefined) return true
      const isNew = !queues.has(queue)
      queues.add(queue)
      return isNew
    })
    if (this.#chosen.size >= MAX_REMEMBERED) this.#chosen.clear()
    this.#chosen.set(route, chosen)
    return chosen
  }
}

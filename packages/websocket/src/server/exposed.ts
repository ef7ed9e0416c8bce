/**
 * The handlers of a service that clients can reach: those whose own patterns are exposed. It is not enough that the
 * name in a request matches an exposed pattern: with `expose: ['shop.*']` a request reaches neither a handler of
 * `shop.secrets.all` nor a handler of `>`.
 */
import {
  type Dispatcher,
  type IncomingMessage,
  OptionError,
  type Pattern,
  type Route,
  routeMatches,
  routeOf
} from '@elysia-microservices/transport/kit'

/**
 * The prefix of routes that services themselves answer, such as their descriptions. They are exposed only by their
 * full name, not by wildcards.
 */
const OWN_ROUTES = 'elysia-microservices.'
const REST = '>'

/**
 * Reads the option `expose` as routes. @throws {OptionError} the value is not a list of patterns, or the list is
 * empty
 */
export function exposedRoutes(given: unknown): readonly string[] {
  if (!Array.isArray(given) || given.length === 0)
    throw OptionError.expected(
      'options.expose',
      "a list of the patterns that may be called from outside, such as ['shop.*']",
      given
    )
  return given.map((pattern: Pattern, index) => {
    if (typeof pattern === 'string' && hasRestInside(pattern))
      throw OptionError.expected(`options.expose[${index}]`, "a pattern with '>' only at its end", pattern)
    if (typeof pattern === 'string' || typeof pattern === 'number') return String(pattern)
    if (typeof pattern === 'object' && pattern !== null && !(pattern instanceof RegExp))
      return routeOf(pattern)
    throw OptionError.expected(`options.expose[${index}]`, 'a text, a number or an object', pattern)
  })
}

/** Whether an exposed pattern covers all messages that a handler's pattern matches. */
export function covers(exposed: string, route: string): boolean {
  if (exposed === route) return true
  if (route.startsWith('{') || route.startsWith(OWN_ROUTES) || !routeMatches(exposed, route)) return false
  // It is unclear which calls a handler with such a pattern takes.
  if (hasRestInside(route)) return false
  // A handler whose pattern ends with `>` takes any number of segments, so the exposed pattern must end with `>`
  // too.
  return !endsOpen(route) || endsOpen(exposed)
}

/**
 * Whether a pattern has `>` before its end, where it has no defined meaning: some transports read it as a wildcard,
 * others as a text.
 */
function hasRestInside(route: string): boolean {
  return !route.startsWith('{') && route.split('.').slice(0, -1).includes(REST)
}

function endsOpen(route: string): boolean {
  return route === REST || route.endsWith(`.${REST}`)
}

/** The exposed part of a service. */
export class Exposed {
  readonly dispatcher: Dispatcher
  /** The patterns of handlers without wildcards, and whether they are exposed. */
  readonly #exact = new Map<string, boolean>()
  /** The patterns of handlers with wildcards, by the kind of handler, and whether they are exposed. */
  readonly #inexact: Readonly<Record<Route['kind'], Map<string, boolean>>> = {
    message: new Map(),
    event: new Map()
  }

  /** @param patterns the exposed routes */
  constructor(patterns: readonly string[], dispatcher: Dispatcher) {
    this.dispatcher = dispatcher
    for (const { kind, route } of dispatcher.routes()) {
      // A RegExp has no route, and cannot be compared with exposed patterns, so its handler is not exposed.
      if (route === undefined) continue
      const isInexact =
        !route.startsWith('{') && route.split('.').some((part) => part === '*' || part === REST)
      const known = isInexact ? this.#inexact[kind] : this.#exact
      known.set(
        route,
        patterns.some((pattern) => covers(pattern, route))
      )
    }
  }

  /** The patterns of the exposed handlers. */
  get routes(): string[] {
    const all = [...this.#exact, ...this.#inexact.message, ...this.#inexact.event]
    return all.filter(([, isExposed]) => isExposed).map(([route]) => route)
  }

  /** Whether an exposed handler takes a message. */
  takes({ kind, route }: Pick<IncomingMessage, 'kind' | 'route'>): boolean {
    if (route === undefined) return false
    const exact = this.#exact.get(route)
    if (exact !== undefined) return exact
    if (route.startsWith('{') || route.startsWith(OWN_ROUTES)) return false
    const { message, event } = this.#inexact
    // For an event it is enough that one matching handler is exposed: it then reaches all handlers of the event,
    // also one that handles all events.
    if (kind === 'event' && matching(event, route).includes(true)) return true
    const found = matching(message, route)
    return found.length > 0 && !found.includes(false)
  }
}

function matching(patterns: ReadonlyMap<string, boolean>, route: string): boolean[] {
  return [...patterns].flatMap(([pattern, isExposed]) => (routeMatches(pattern, route) ? [isExposed] : []))
}

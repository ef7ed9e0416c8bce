/**
 * The handlers of a service that are reached from outside: those whose own patterns are exposed. A name that only looks
 * exposed leads nowhere: with `expose: ['shop.*']`, neither `shop.secrets.all` nor what a handler of `>` would take.
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

/** Routes of services themselves, such as their descriptions: reached where they are named, not by wildcards. */
const OWN_ROUTES = 'elysia-microservices.'
const REST = '>'

/** The patterns of an option, as routes. @throws {OptionError} it is no list of patterns, or an empty one */
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

/** Whether a pattern that is exposed stands for the pattern of a handler, with all that the handler would take. */
export function covers(exposed: string, route: string): boolean {
  if (exposed === route) return true
  if (route.startsWith('{') || route.startsWith(OWN_ROUTES) || !routeMatches(exposed, route)) return false
  // The pattern does not tell which calls such a handler takes.
  if (hasRestInside(route)) return false
  // A handler of the rest takes more than one segment.
  return !endsOpen(route) || endsOpen(exposed)
}

/** Whether `>` stands before the end, where it has no meaning: some read it as the rest, others as a text. */
function hasRestInside(route: string): boolean {
  return !route.startsWith('{') && route.split('.').slice(0, -1).includes(REST)
}

function endsOpen(route: string): boolean {
  return route === REST || route.endsWith(`.${REST}`)
}

/** The part of a service that is exposed. */
export class Exposed {
  readonly dispatcher: Dispatcher
  /** Patterns without wildcards that have a handler, and whether they are exposed. */
  readonly #exact = new Map<string, boolean>()
  /** Patterns with wildcards that have a handler of this kind, and whether they are exposed. */
  readonly #inexact: Readonly<Record<Route['kind'], Map<string, boolean>>> = {
    message: new Map(),
    event: new Map()
  }

  /** @param patterns the routes that are exposed */
  constructor(patterns: readonly string[], dispatcher: Dispatcher) {
    this.dispatcher = dispatcher
    for (const { kind, route } of dispatcher.routes()) {
      // A RegExp says nothing of what it takes.
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

  /** The patterns of handlers that are exposed. */
  get routes(): string[] {
    const all = [...this.#exact, ...this.#inexact.message, ...this.#inexact.event]
    return all.filter(([, isExposed]) => isExposed).map(([route]) => route)
  }

  /** Whether a handler that is exposed takes the message. */
  takes({ kind, route }: Pick<IncomingMessage, 'kind' | 'route'>): boolean {
    if (route === undefined) return false
    const exact = this.#exact.get(route)
    if (exact !== undefined) return exact
    if (route.startsWith('{') || route.startsWith(OWN_ROUTES)) return false
    const { message, event } = this.#inexact
    // Every handler of an event gets it, also one that hears of everything: the name of the event is what is exposed.
    if (kind === 'event' && matching(event, route).includes(true)) return true
    const found = matching(message, route)
    return found.length > 0 && !found.includes(false)
  }
}

function matching(patterns: ReadonlyMap<string, boolean>, route: string): boolean[] {
  return [...patterns].flatMap(([pattern, isExposed]) => (routeMatches(pattern, route) ? [isExposed] : []))
}

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

/** The handlers of one kind. A name that is exposed as an event does not expose a message handler, and vice versa. */
class HandlersOfKind {
  /** The patterns without wildcards, and whether they are exposed. */
  readonly exact = new Map<string, boolean>()
  /** The patterns with wildcards, and whether they are exposed. */
  readonly #inexact = new Map<string, boolean>()
  /** A handler with a RegExp is never exposed, because a RegExp cannot be compared with exposed patterns. */
  readonly #regexps: RegExp[] = []

  constructor(routes: readonly Route[], patterns: readonly string[]) {
    for (const { route, regexp } of routes) {
      if (regexp !== undefined) this.#regexps.push(regexp)
      if (route === undefined) continue
      const isInexact =
        !route.startsWith('{') && route.split('.').some((part) => part === '*' || part === REST)
      const known = isInexact ? this.#inexact : this.exact
      known.set(
        route,
        patterns.some((pattern) => covers(pattern, route))
      )
    }
  }

  get exposed(): string[] {
    return [...this.exact, ...this.#inexact].filter(([, isExposed]) => isExposed).map(([route]) => route)
  }

  /** Whether each handler with wildcards that may take a route is exposed. */
  inexact(route: string): boolean[] {
    // A route in braces is an object, which only `>` matches.
    const isObject = route.startsWith('{')
    // A wildcard stands for an empty segment in some dispatchers, and in others not. So only hidden handlers count.
    const isUnclear = route.split('.').includes('')
    return [...this.#inexact].flatMap(([pattern, isExposed]) => {
      const isMatch = isObject ? pattern === REST : routeMatches(pattern, route)
      return isMatch && !(isUnclear && isExposed) ? [isExposed] : []
    })
  }

  /** Whether a RegExp matches a route. */
  matches(route: string): boolean {
    return this.#regexps.some((regexp) => regexp.test(route))
  }

  /**
   * Whether the handler that answers a route is exposed; `undefined` if no handler has the route. A handler with
   * wildcards must not be hidden, nor must any other that might be chosen instead.
   */
  answers(route: string): boolean | undefined {
    const exact = this.exact.get(route)
    if (exact !== undefined) return exact
    const found = this.inexact(route)
    if (found.includes(false)) return false
    // A service prefers other wildcards to a RegExp, and a RegExp to `>`.
    const isPreferred = found.length > (this.#inexact.has(REST) ? 1 : 0)
    if (!isPreferred && this.matches(route)) return false
    return found.length > 0 ? true : undefined
  }
}

/** The exposed part of a service. */
export class Exposed {
  readonly dispatcher: Dispatcher
  readonly #messages: HandlersOfKind
  readonly #events: HandlersOfKind

  /** @param patterns the exposed routes */
  constructor(patterns: readonly string[], dispatcher: Dispatcher) {
    this.dispatcher = dispatcher
    const routes = dispatcher.routes()
    const ofKind = (wanted: Route['kind']) =>
      new HandlersOfKind(
        routes.filter(({ kind }) => kind === wanted),
        patterns
      )
    this.#messages = ofKind('message')
    this.#events = ofKind('event')
  }

  /** The patterns of the exposed handlers. */
  get routes(): string[] {
    return [...this.#messages.exposed, ...this.#events.exposed]
  }

  /** Whether an exposed handler takes a message. */
  takes({ kind, route }: Pick<IncomingMessage, 'kind' | 'route'>): boolean {
    if (route === undefined) return false
    if ((route.startsWith('{') || route.startsWith(OWN_ROUTES)) && !this.#isNamed(route)) return false
    return kind === 'event' ? this.#takesEvent(route) : this.#takesRequest(route)
  }

  /** A service answers a request to an event's exact pattern by the event's handlers if no message handler has it. */
  #takesRequest(route: string): boolean {
    const asEvent = this.#events.exact.get(route)
    const asMessage = this.#messages.answers(route)
    if (asMessage === undefined) return asEvent === true
    return asMessage && (this.#messages.exact.has(route) || asEvent !== false)
  }

  /**
   * For an event it is enough that one matching handler is exposed: it then reaches all handlers of the event, also
   * one that handles all events. An event without event handlers goes to a message handler.
   */
  #takesEvent(route: string): boolean {
    const exact = this.#events.exact.get(route)
    const found = [...(exact === undefined ? [] : [exact]), ...this.#events.inexact(route)]
    if (found.length > 0) return found.includes(true)
    return this.#messages.answers(route) === true && !this.#events.matches(route)
  }

  /** Whether a route is exposed by its full name. */
  #isNamed(route: string): boolean {
    return this.#messages.exact.get(route) === true || this.#events.exact.get(route) === true
  }
}

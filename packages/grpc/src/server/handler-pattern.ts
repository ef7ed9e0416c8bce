/** The pattern by which a handler of the service answers a method. */
import { type Dispatcher, nameOf, routeOf } from '@elysia-microservices/transport/kit'
import { patternsOf } from '../method-patterns.ts'
import type { GrpcMethod } from '../methods.ts'

/** A pattern in the two forms that messages have. */
export interface HandlerPattern {
  readonly pattern: string
  readonly route: string
}

/** The patterns that were found, for each service, by the patterns and paths of its methods. */
const found = new WeakMap<Dispatcher, Map<string, HandlerPattern>>()

/**
 * The pattern of a method: that of the `.proto`, then the path, then `Orders/GetTotal` without the package, then those of
 * Nest's decorators, whichever has a handler of its own. Without one it is the first: a handler with wildcards may take it.
 */
export function handlerPatternOf(dispatcher: Dispatcher, method: GrpcMethod): HandlerPattern {
  const key = method.pattern === method.path ? method.path : `${method.pattern} ${method.path}`
  let known = found.get(dispatcher)
  if (known === undefined) {
    known = new Map()
    found.set(dispatcher, known)
  }
  const before = known.get(key)
  if (before !== undefined) return before
  const kind = method.kind === 'event' ? 'event' : 'message'
  const routes = new Set(dispatcher.routes().flatMap((one) => (one.kind === kind ? [one.route] : [])))
  const all = patternsOf(method).map((one) => ({ pattern: nameOf(one), route: routeOf(one) }))
  const exact = all.find(({ route }) => routes.has(route))
  // A handler may be added later.
  if (exact !== undefined) known.set(key, exact)
  return exact ?? (all[0] as HandlerPattern)
}

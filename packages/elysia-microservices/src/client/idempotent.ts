/** The option `idempotent` of a client: the patterns whose handlers may run twice. */
import {
  type Adapt,
  hasWildcards,
  OptionError,
  type Pattern,
  routeMatches,
  routeOfValue
} from '@elysia-microservices/transport/kit'

/**
 * Makes the calls of these patterns `idempotent`, unless a call says otherwise. Wildcards name all patterns that they match.
 * @throws {OptionError} it is no list of patterns
 */
export function idempotently(patterns: readonly Pattern[]): Adapt | undefined {
  if (!Array.isArray(patterns))
    throw OptionError.expected('options.idempotent', "a list of patterns, such as ['orders.get']", patterns)
  if (patterns.length === 0) return undefined
  const routes = patterns.map((pattern, index) => {
    const route = routeOfValue(pattern)
    if (route !== undefined) return route
    throw OptionError.expected(`options.idempotent[${index}]`, 'a pattern', pattern)
  })
  const exact = new Set(routes)
  const wild = routes.filter(hasWildcards)
  return (options, asked) => {
    if (asked === undefined || options?.idempotent !== undefined) return options
    const route = routeOfValue(asked)
    if (route === undefined) return options
    const isNamed = exact.has(route) || wild.some((one) => routeMatches(one, route))
    return isNamed ? { ...options, idempotent: true } : options
  }
}

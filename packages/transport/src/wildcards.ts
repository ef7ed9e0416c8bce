/**
 * Wildcards of engines: `*` stands for one segment between dots, `>` at the end for all further segments. Patterns are
 * compared segment by segment; a dispatcher with many patterns has a faster way.
 */
const ONE = '*'
const REST = '>'

/** An engine's syntax for patterns that match several addresses. */
export interface Wildcards {
  /** Whether a pattern has wildcards. */
  has(pattern: string): boolean
  /** Whether a pattern matches an address. */
  match(pattern: string, address: string): boolean
  /** Negative if the first pattern is more specific than the second. */
  compare(one: string, other: string): number
  /**
   * `true`: the engine delivers a message once for each matching pattern of a queue, and the handlers of exactly that
   * pattern get it. `false`: the engine delivers a message once for each queue, and the dispatcher finds all handlers
   * that match.
   */
  readonly isEachAlone: boolean
  /**
   * Why a call cannot have wildcards, and what the user can do: "'*' and '>' stand for any segment, …; write the
   * segments out".
   */
  readonly inCalls: string
  /** Advice for users who wanted a RegExp: "use '*' for one segment and '>' for the rest". */
  readonly instead: string
}

/** Whether a route has a wildcard as a segment. */
export function hasWildcards(route: string): boolean {
  return route.split('.').some((segment) => segment === ONE || segment === REST)
}

/** Whether a pattern with wildcards matches a route. */
export function routeMatches(pattern: string, route: string): boolean {
  const wanted = pattern.split('.')
  const given = route.split('.')
  for (const [index, segment] of wanted.entries()) {
    if (index >= given.length) return false
    if (segment === REST) return true
    if (segment !== ONE && segment !== given[index]) return false
  }
  return wanted.length === given.length
}

/** Puts the more specific of two patterns first: from the left, text comes before `*`, and `*` before `>`. */
export function bySpecificity(one: string, other: string): number {
  const left = one.split('.')
  const right = other.split('.')
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const difference = rank(left[index] as string) - rank(right[index] as string)
    if (difference !== 0) return difference
  }
  return right.length - left.length
}

function rank(segment: string): number {
  return segment === REST ? 2 : segment === ONE ? 1 : 0
}

/** The syntax with `*` and `>` for segments between dots. */
export const SEGMENTS: Wildcards = {
  has: hasWildcards,
  match: routeMatches,
  compare: bySpecificity,
  isEachAlone: false,
  inCalls: "'*' and '>' stand for any segment, and a call goes to one address; write the segments out",
  instead: "use '*' for one segment and '>' for the rest"
}

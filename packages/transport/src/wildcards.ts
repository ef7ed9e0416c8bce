/**
 * Wildcards as brokers have them: `*` stands for one segment between dots, `>` at the end for the rest. They are compared
 * segment by segment; a dispatcher of many patterns has something faster.
 */
const ONE = '*'
const REST = '>'

/** An engine's syntax for patterns that stand for several addresses. */
export interface Wildcards {
  /** Whether a pattern stands for others than itself. */
  has(pattern: string): boolean
  /** Whether a pattern stands for an address. */
  match(pattern: string, address: string): boolean
  /** Negative if the first is the more specific one. */
  compare(one: string, other: string): number
  /**
   * The engine delivers a message once for each pattern of a queue that matches, and the handlers of just that pattern
   * get it. `false`: once for each queue, and the dispatcher finds all handlers that match.
   */
  readonly isEachAlone: boolean
  /** Why a call cannot have one, and what to do: "'*' and '>' stand for any segment, …; write the segments out". */
  readonly inCalls: string
  /** Advice for users who wanted a RegExp: "use '*' for one segment and '>' for the rest". */
  readonly instead: string
}

/** Whether a route has a segment that stands for others. */
export function hasWildcards(route: string): boolean {
  return route.split('.').some((segment) => segment === ONE || segment === REST)
}

/** Whether a pattern with wildcards stands for a route. */
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

/** The wildcards of segments between dots. */
export const SEGMENTS: Wildcards = {
  has: hasWildcards,
  match: routeMatches,
  compare: bySpecificity,
  isEachAlone: false,
  inCalls: "'*' and '>' stand for any segment, and a call goes to one address; write the segments out",
  instead: "use '*' for one segment and '>' for the rest"
}

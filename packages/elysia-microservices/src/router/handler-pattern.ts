/** The forms of patterns under which a handler can be registered. */
import { OptionError, type Pattern, routeOf } from '@elysia-microservices/transport/kit'

/** The pattern of a handler: exact (text, number, object), text with wildcards, a RegExp, or `'>'` for all. */
export type HandlerPattern = Pattern | RegExp

/** One pattern, or several patterns of the same handler. */
export type Patterns = HandlerPattern | readonly HandlerPattern[]

/** The texts that wildcards and groups have matched, in their order; named groups also under `groups`. */
export type PatternParams = readonly (string | undefined)[] & {
  readonly groups?: Readonly<Record<string, string | undefined>>
}

/** The wildcard for one segment. */
export const ONE_SEGMENT = '*'
/** The wildcard for the rest of a route, at least one segment. Alone it matches every pattern of every form. */
export const THE_REST = '>'

/** A pattern in the form in which a router stores it. */
export type ParsedPattern =
  | { readonly kind: 'exact'; readonly route: string }
  | { readonly kind: 'wildcard'; readonly route: string; readonly segments: readonly string[] }
  | { readonly kind: 'regexp'; readonly route: string; readonly regexp: RegExp }
  | { readonly kind: 'all'; readonly route: string }

/**
 * Parses a pattern. Only texts can have wildcards: dots separate the segments of a text, and a segment that is `*`
 * or, at the end, `>` is a wildcard.
 * @throws {OptionError} the value is not a pattern, or has `>` before the end
 */
export function parsePattern(pattern: HandlerPattern): ParsedPattern {
  if (pattern instanceof RegExp) {
    // With the flags `g` and `y` a RegExp remembers the position of its last match, so the result would depend on
    // the previous message.
    const regexp = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
    return { kind: 'regexp', route: String(regexp), regexp }
  }
  const route = routeOf(pattern)
  if (typeof pattern !== 'string') return { kind: 'exact', route }
  if (pattern === THE_REST) return { kind: 'all', route }
  const segments = pattern.split('.')
  if (segments.slice(0, -1).includes(THE_REST)) {
    throw new OptionError(
      'pattern',
      `The pattern '${pattern}' has '${THE_REST}' before its end; this wildcard may only be the last segment`
    )
  }
  const hasWildcard = segments.includes(ONE_SEGMENT) || segments.at(-1) === THE_REST
  return hasWildcard ? { kind: 'wildcard', route, segments } : { kind: 'exact', route }
}

/** One or several patterns as a list. */
export function patternList(patterns: Patterns): readonly HandlerPattern[] {
  return Array.isArray(patterns) ? patterns : [patterns as HandlerPattern]
}

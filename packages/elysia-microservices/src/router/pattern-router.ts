/**
 * Finds the values registered for the route of a message. Exact patterns need one look-up in a map, however many
 * patterns there are.
 */
import { type HandlerPattern, type PatternParams, parsePattern } from './handler-pattern.ts'
import { SegmentTrie } from './segment-trie.ts'

/** The value of a pattern that matches, and the texts that the pattern's wildcards or groups have matched. */
export interface Match<Value> {
  readonly value: Value
  readonly params: PatternParams
}

const NO_PARAMS: PatternParams = Object.freeze([])
const OPENING_BRACE = 123

/** A map from patterns to values. A value is never `undefined`. */
export class PatternRouter<Value> {
  readonly #exact = new Map<string | undefined, Value>()
  /** The values of exact patterns, by route. */
  readonly exact: ReadonlyMap<string | undefined, Value> = this.#exact
  readonly #wildcards = new SegmentTrie<Value>()
  readonly #regexps = new Map<string, { readonly regexp: RegExp; readonly value: Value }>()
  #all: Value | undefined
  #onlyExact = true

  /** Whether all patterns are exact. */
  get onlyExact(): boolean {
    return this.#onlyExact
  }

  /**
   * The value of a pattern. It is made when the pattern is first used.
   * @throws {OptionError} the value is not a pattern
   */
  getOrAdd(pattern: HandlerPattern, make: () => Value): Value {
    const parsed = parsePattern(pattern)
    if (parsed.kind !== 'exact') this.#onlyExact = false
    switch (parsed.kind) {
      case 'exact': {
        const value = this.#exact.get(parsed.route) ?? make()
        this.#exact.set(parsed.route, value)
        return value
      }
      case 'wildcard':
        return this.#wildcards.getOrAdd(parsed.segments, make)
      case 'regexp': {
        const value = this.#regexps.get(parsed.route)?.value ?? make()
        this.#regexps.set(parsed.route, { regexp: parsed.regexp, value })
        return value
      }
      case 'all':
        this.#all ??= make()
        return this.#all
    }
  }

  /**
   * The match for a route that has no exact pattern: the most specific wildcard pattern, else the RegExp that was
   * registered first, else the catch-all.
   */
  inexact(route: string | undefined): Match<Value> | undefined {
    if (this.#onlyExact) return undefined
    let found: Match<Value> | undefined
    this.#visitInexact(route, (value, params) => {
      found = { value, params }
      return true
    })
    return found
  }

  /** All matches of a route, in the order of precedence. */
  all(route: string | undefined): Match<Value>[] {
    const matches: Match<Value>[] = []
    const exact = this.#exact.get(route)
    if (exact !== undefined) matches.push({ value: exact, params: NO_PARAMS })
    this.#visitInexact(route, (value, params) => {
      matches.push({ value, params })
      return false
    })
    return matches
  }

  #visitInexact(route: string | undefined, visit: (value: Value, params: PatternParams) => boolean): void {
    // A message without a route is malformed, so not even the catch-all matches it.
    if (route === undefined) return
    // A route that begins with a brace is the text of an object, whose dots do not separate segments.
    if (route.charCodeAt(0) !== OPENING_BRACE && this.#wildcards.visit(route, visit)) return
    for (const { regexp, value } of this.#regexps.values()) {
      const match = regexp.exec(route)
      if (match !== null && visit(value, paramsOf(match))) return
    }
    if (this.#all !== undefined) visit(this.#all, NO_PARAMS)
  }
}

function paramsOf(match: RegExpExecArray): PatternParams {
  return Object.assign(match.slice(1), { groups: match.groups ?? {} })
}

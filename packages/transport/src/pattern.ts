/**
 * Patterns and their canonical form, the route, which is the key of a handler. The rules come from Nest 12, so that
 * both sides of a mixed system agree on the key.
 */
import { OptionError } from './errors/index.ts'

/** The name of a handler: a string, a number, or a plain object of these (`{ cmd: 'sum' }`). */
export type Pattern = string | number | object

/** Depth from which on Nest, and so this library, cuts off an object pattern. */
const MAX_DEPTH = 5
/** Number of keys beyond which Nest, and so this library, gives all object patterns the same route. */
const MAX_KEYS = 20

/**
 * The canonical text of a pattern: numbers become text, object keys are sorted, so equal patterns have equal routes.
 * @throws {OptionError} the pattern is not a string, a number or an object
 */
export function routeOf(pattern: Pattern): string {
  const route = routeOfValue(pattern)
  if (route === undefined) throw OptionError.expected('pattern', 'a string, a number or an object', pattern)
  return route
}

/** The route of a value that was received; `undefined` if the value cannot name a handler. */
export function routeOfValue(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object' || value === null) return undefined
  return routeOfObject(value, 0)
}

/** The text of a pattern as its caller has written it; an object pattern as JSON. Never throws. */
export function nameOf(pattern: Pattern): string {
  try {
    return (typeof pattern === 'object' ? JSON.stringify(pattern) : String(pattern)) ?? routeOf(pattern)
  } catch {
    // The pattern contains itself, or its getters throw. Calls of such a pattern fail, and their errors need a name.
    return 'a pattern that is not JSON'
  }
}

function routeOfObject(value: object, depth: number): string {
  if (depth > MAX_DEPTH) return '[MAX_DEPTH_REACHED]'
  const keys = Object.keys(value)
  if (keys.length > MAX_KEYS) return '[TOO_MANY_KEYS]'
  // Nest sorts keys by locale; in another order, the same pattern would have another route.
  if (keys.length > 1) keys.sort((a, b) => a.localeCompare(b))
  const parts = keys.map((key) => `"${escapeText(key)}":${partOf(Reflect.get(value, key), depth + 1)}`)
  return `{${parts.join(',')}}`
}

function partOf(value: unknown, depth: number): string {
  if (typeof value === 'string') return `"${escapeText(value)}"`
  if (typeof value === 'object' && value !== null) return routeOfObject(value, depth)
  return String(value)
}

function escapeText(text: string): string {
  return text.replace(/\\/g, '\\\\').replace(/"/g, '\\"')
}

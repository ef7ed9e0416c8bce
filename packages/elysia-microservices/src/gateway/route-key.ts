/** The keys of a gateway's routes: `'GET /users/:id'`. */
import { OptionError } from '@elysia-microservices/transport/kit'

/** The HTTP methods that a route may have. */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const

/** A method of HTTP. */
export type Method = (typeof METHODS)[number]

/** The parts of a key. */
export interface RouteKey {
  readonly method: Method
  /** The path in Elysia's syntax: `:name`, `:name?` at the end, `*` as the last segment. */
  readonly path: string
  /** The names of the path's parameters, in their order; `*` for the wildcard. */
  readonly params: readonly string[]
}

const EXPECTED = `a method (${METHODS.join(', ')}), one space and a path such as /users/:id`
/**
 * A segment of plain text. It may contain no space, no `?` or `#`, which end a path, and no `:` or `*`, which mark
 * parameters.
 */
const TEXT = /^[^\s:*?#/]+$/
const PARAM = /^:([A-Za-z_]\w*)(\??)$/

/**
 * Parses a key.
 * @throws {OptionError} the text is not a route's key
 */
export function parseRouteKey(key: string): RouteKey {
  const [method, path, ...rest] = key.split(' ')
  const params = path?.startsWith('/') ? paramsOf(path) : undefined
  if (!isMethod(method) || params === undefined || rest.length > 0) {
    throw OptionError.expected(`routes['${key}']`, EXPECTED, key)
  }
  return { method, path: path as string, params }
}

function isMethod(text: string | undefined): text is Method {
  return (METHODS as readonly (string | undefined)[]).includes(text)
}

/** The names of the parameters; `undefined` if a segment is invalid. */
function paramsOf(path: string): string[] | undefined {
  const segments = path.slice(1).split('/')
  // The path is `/`, or ends with a slash.
  if (segments.at(-1) === '') segments.pop()
  const names: string[] = []
  for (const [index, segment] of segments.entries()) {
    if (TEXT.test(segment)) continue
    const [, name, optional] = segment === '*' ? [segment, segment, '?'] : (PARAM.exec(segment) ?? [])
    const isLast = index === segments.length - 1 && path.endsWith(segment)
    // Only the last segment can be optional: an optional segment elsewhere would mean several routes.
    if (name === undefined || names.includes(name) || (optional === '?' && !isLast)) return undefined
    names.push(name)
  }
  return names
}

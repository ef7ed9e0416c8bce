/** Writes the OpenAPI documentation of a route. A route's own `detail` takes precedence. */
import type { DocumentDecoration } from 'elysia'
import type { ErrorDescription } from '../description/description.ts'
import { errorBody } from '../description/error-body.ts'
import type { RouteDescription } from './described.ts'
import { type Statuses, statusOfCode } from './error-status.ts'
import type { RouteKey } from './route-key.ts'

/** The parts of a route that its documentation needs. */
export interface Documented {
  readonly key: RouteKey
  readonly kind: 'message' | 'stream' | 'event'
  /** The pattern that the route calls, as text. */
  readonly pattern: string
  /** The status of a successful answer. */
  readonly status: number
  /** The schema of a successful answer. */
  readonly response: object | undefined
  readonly detail: DocumentDecoration | undefined
  /** Parts from the description of the service. */
  readonly described: RouteDescription
}

const ERROR = {
  type: 'object',
  required: ['code', 'message'],
  properties: { code: { type: 'string' }, message: { type: 'string' }, details: {} }
} satisfies object

const DESCRIPTIONS = {
  message: 'The answer of the service',
  stream: 'One event for each value, as JSON; `event: error` if it fails, `event: end` at the end',
  event: 'The event was sent'
}

/**
 * Returns the `detail` of each route, in the order of the routes. @param statuses the statuses that the gateway's
 * options give to error codes
 */
export function documentRoutes(routes: readonly Documented[], statuses: Statuses): DocumentDecoration[] {
  const named = routes.map(({ pattern }) => camelCase(words(pattern)))
  return routes.map((route, index) => {
    const { key, kind, pattern, status, response, detail, described } = route
    const { response: answer, errors = {}, ...request } = described
    const name = named[index] as string
    // An operation id must be unique in the document, but several routes may call the same pattern.
    const isUnique = name !== '' && named.filter((other) => other === name).length === 1
    const content = contentOf(kind, response ?? answer)
    return {
      summary: pattern.startsWith('{') ? words(pattern).join(' ') : pattern,
      operationId: isUnique ? name : camelCase([key.method, ...words(key.path)]),
      tags: tagsOf(pattern, key.path),
      ...request,
      ...detail,
      responses: {
        [status]: { description: DESCRIPTIONS[kind], ...(content && { content }) },
        ...errorResponses(errors, statuses),
        default: { description: 'An error', content: { 'application/json': { schema: ERROR } } },
        ...detail?.responses
      }
    } as object
  })
}

/** The responses for the declared errors, by status. */
function errorResponses(
  errors: Readonly<Record<string, ErrorDescription>>,
  statuses: Statuses
): Record<string, object> {
  const byStatus = new Map<number, string[]>()
  for (const [code, { status }] of Object.entries(errors)) {
    const answered = statuses.get(code) ?? status ?? statusOfCode(code)
    byStatus.set(answered, [...(byStatus.get(answered) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const [only, ...others] = codes.map((code) => errorBody(code, errors[code] ?? {}))
      const schema = others.length === 0 ? only : { anyOf: [only, ...others] }
      return [status, { description: codes.join(' or '), content: { 'application/json': { schema } } }]
    })
  )
}

function contentOf(kind: Documented['kind'], response: object | undefined): object | undefined {
  if (kind === 'stream') return { 'text/event-stream': { schema: response ?? { type: 'string' } } }
  return response && { 'application/json': { schema: response } }
}

/** The tag of a route: the first part of a pattern such as `orders.create`, else the first word of the path. */
function tagsOf(pattern: string, path: string): string[] {
  const area = /^([A-Za-z][\w-]*)\./.exec(pattern)?.[1]
  const first = words(path.split('/').find((segment) => /^[^:*]/.test(segment)) ?? '')[0]
  return [area ?? first].filter((tag) => tag !== undefined)
}

function words(text: string): string[] {
  return text.match(/[A-Za-z0-9]+/g) ?? []
}

function camelCase(parts: readonly string[]): string {
  return parts
    .map((part, index) => {
      if (index > 0) return part.charAt(0).toUpperCase() + part.slice(1)
      return part === part.toUpperCase() ? part.toLowerCase() : part.charAt(0).toLowerCase() + part.slice(1)
    })
    .join('')
}

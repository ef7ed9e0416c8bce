/**
 * Converts errors that Elysia throws before a route's handler runs, so that their bodies have the same shape as
 * those of all other errors.
 */
import { RpcError } from '@elysia-microservices/transport/kit'
import { Kind } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { ElysiaCustomStatusResponse, ParseError, ValidationError as SchemaError, type TSchema } from 'elysia'
import { MOST_VIOLATIONS, pathPart } from '../schema/check.ts'
import { expectedBy } from '../schema/expected.ts'
import { type ErrorAnswers, errorResponse, type HttpContext } from './error-response.ts'
import { type Identifiable, requestIdOf } from './request-id.ts'

/** The schemas of a route, by the part of the request that they check. */
type SchemasByPart = Readonly<Record<string, unknown>>

/** Elysia's report of one wrong value. */
interface Issue {
  readonly path: string
  readonly message: string
}

/**
 * How many of Elysia's errors are read at most. There may be several errors for one path, so this is more than are
 * reported.
 */
const MOST_LOOKED_AT = 8 * MOST_VIOLATIONS

/** Converts an error of Elysia to an error with a code; any other error is returned unchanged. */
function fromElysia(error: unknown, schemas: SchemasByPart): unknown {
  if (error instanceof ParseError) {
    return new RpcError({ code: 'PARSE', message: 'The body cannot be read as its content type' })
  }
  return error instanceof SchemaError ? fromSchemaError(error, schemas) : error
}

function fromSchemaError(error: SchemaError, schemas: SchemasByPart): RpcError {
  const given = schemas[error.type]
  // A decoder of Elysia's types, such as that of `t.Integer({ minimum: 1 })`, does not say in which part of the
  // request the value is.
  const root = error.type === 'property' ? Object.keys(schemas).join(' or ') : error.type
  const issueOf = (issue: Partial<Issue>) => issueAt(root, issue, error, given)
  const found = (error.all as readonly Partial<Issue>[]).slice(0, MOST_LOOKED_AT)
  const all = found.filter(({ path }, index) => found.findIndex((one) => one.path === path) === index)
  const [first = issueOf({}), ...others] = all.slice(0, MOST_VIOLATIONS).map(issueOf)
  const { path, expected, message } = first
  const issues = [first, ...others].map((issue) => ({ path: issue.path, expected: issue.expected }))
  const details = others.length === 0 ? { path, expected } : { path, expected, issues }
  return new RpcError({ code: 'VALIDATION', message, details })
}

function issueAt(
  root: string,
  { path = '', message = '' }: Partial<Issue>,
  error: SchemaError,
  given: unknown
) {
  const said = (isTypeBox(given) && expectedAt(given, path, error.value)) || message
  // TypeBox gives a JSON pointer. A Standard Schema gives keys with dots between them, or 'root'.
  const keys =
    path === 'root' ? [] : path.startsWith('/') || path === '' ? path.split('/').slice(1) : path.split('.')
  const place = root + keys.map(pathPart).join('')
  const expected = said.replace(/^Expected (value to be )?/, '')
  const isOwnWords = said === expected && said === message
  return { path: place, expected, message: `${place}: ${isOwnWords ? said : `expected ${expected}`}` }
}

/**
 * Says what the original schema of the route expects. Elysia checks with a coerced schema, whose message for a
 * number is only "union value".
 */
function expectedAt(schema: TSchema, path: string, value: unknown): string | undefined {
  let looked = 0
  for (const error of Value.Errors(schema as never, value)) {
    if (error.path === path) return expectedBy(error)
    if (++looked === MOST_LOOKED_AT) break
  }
  return undefined
}

function isTypeBox(schema: unknown): schema is TSchema {
  return typeof schema === 'object' && schema !== null && Kind in schema
}

/**
 * The error hook of a route. It answers all errors that hooks of the app have not answered.
 * @param pattern the pattern that the route calls, for the log
 */
export function answersErrors(answers: ErrorAnswers, schemas: SchemasByPart, pattern: string) {
  // Elysia reads in this function's source which parts of the context it uses, and makes only those. So each part
  // is named here.
  return ({ error, request, set }: HttpContext & { error: unknown }): Response | undefined => {
    if (error instanceof ElysiaCustomStatusResponse) return undefined
    const context = { request, set }
    return errorResponse(answers.of(fromElysia(error, schemas), describeRequest(context, pattern)), context)
  }
}

/** Describes a request for the log, without its query, which may contain secrets. */
export function describeRequest(context: Identifiable, pattern?: string): string {
  const { request } = context
  const named = [...(pattern === undefined ? [] : [pattern]), `request ${requestIdOf(context)}`]
  return `${request.method} ${new URL(request.url).pathname} (${named.join(', ')})`
}

/**
 * Converts errors that Elysia throws before a route's handler runs, so that their bodies have the same shape as
 * those of all other errors.
 */
import { MicroserviceError, RpcError } from '@elysia-microservices/transport/kit'
import { Value } from '@sinclair/typebox/value'
import type { TSchema } from 'elysia'
import { MOST_VIOLATIONS, pathPart } from '../schema/check.ts'
import { type Expectation, expectationsOf } from '../schema/expected.ts'
import { isRepeatable } from './call-options.ts'
import { type ElysiaError, type Issue, isTypeBox, readElysiaError } from './elysia-errors.ts'
import { type ErrorAnswers, errorResponse, type HttpContext } from './error-response.ts'
import { type Identifiable, requestIdOf } from './request-id.ts'

/** The schemas of a route, by the part of the request that they check. */
type SchemasByPart = Readonly<Record<string, unknown>>

/**
 * How many of Elysia's errors are read at most. There may be several errors for one path, so this is more than are
 * reported.
 */
const MOST_LOOKED_AT = 8 * MOST_VIOLATIONS

/**
 * Converts an error of Elysia to an error with a code; any other error is returned unchanged. The result is
 * `undefined` for an answer that only Elysia can give.
 */
function fromElysia(error: unknown, schemas: SchemasByPart, request: Request): unknown {
  if (error instanceof MicroserviceError) return error
  const read = readElysiaError(error)
  switch (read?.kind) {
    case undefined:
      return error
    case 'status':
      return undefined
    case 'parse':
      return parseError()
    case 'schema':
      return fromSchemaError(read, schemas)
    case 'file':
      return violation(read.path, `a file of type ${String(read.expected)}`)
    case 'decoder':
      return fromDecoder(read, schemas, request)
  }
}

/** The body of a request cannot be read. */
export function parseError(): RpcError {
  return new RpcError({ code: 'PARSE', message: 'The body cannot be read as its content type' })
}

function violation(path: string, expected: string): RpcError {
  return new RpcError({
    code: 'VALIDATION',
    message: `${path}: expected ${expected}`,
    details: { path, expected }
  })
}

/**
 * Elysia itself decodes lists in a query, and its error has only the list. So the parameter is the one whose texts
 * are that list.
 */
function fromDecoder(
  { value, issue }: ElysiaError & { kind: 'decoder' },
  schemas: SchemasByPart,
  request: Request
): RpcError {
  const { searchParams } = new URL(request.url)
  const isIt = (name: string) => listed(searchParams.getAll(name)) === listed([value].flat())
  const name = [...new Set(searchParams.keys())].find(isIt)
  const root = name === undefined ? Object.keys(schemas).join(' or ') : `query${pathPart(name)}`
  const { path = '', message = 'a value that can be decoded' } = issue
  const keys = path.split('/').slice(1)
  return violation(root + keys.map(pathPart).join(''), message.replace(/^Expected (value to be )?/, ''))
}

function listed(texts: readonly unknown[]): string {
  return texts.join(',')
}

function fromSchemaError(error: ElysiaError & { kind: 'schema' }, schemas: SchemasByPart): RpcError {
  const given = schemas[error.type]
  // A decoder of Elysia's types, such as that of `t.Integer({ minimum: 1 })`, does not say in which part of the
  // request the value is.
  const root = error.type === 'property' ? Object.keys(schemas).join(' or ') : error.type
  const issueOf = (issue: Partial<Issue>) => issueAt(root, issue, error.value, given)
  const found = error.all.slice(0, MOST_LOOKED_AT)
  const all = found.filter(({ path }, index) => found.findIndex((one) => one.path === path) === index)
  const [first = issueOf({}), ...others] = all.slice(0, MOST_VIOLATIONS).map(issueOf)
  const { path, expected, message } = first
  const issues = [first, ...others].map((issue) => ({ path: issue.path, expected: issue.expected }))
  const details = others.length === 0 ? { path, expected } : { path, expected, issues }
  return new RpcError({ code: 'VALIDATION', message, details })
}

function issueAt(root: string, issue: Partial<Issue>, value: unknown, given: unknown) {
  const found = isTypeBox(given) ? expectationAt(given, issue.path ?? '', value) : undefined
  const { message = '' } = issue
  const path = found?.path ?? issue.path ?? ''
  const said = found?.expected ?? message
  // TypeBox gives a JSON pointer. A Standard Schema gives keys with dots between them, or 'root'.
  const keys =
    path === 'root' ? [] : path.startsWith('/') || path === '' ? path.split('/').slice(1) : path.split('.')
  const place = root + keys.map(pathPart).join('')
  const expected = said.replace(/^Expected (value to be )?/, '')
  const isOwnWords = said === expected && said === message
  return { path: place, expected, message: `${place}: ${isOwnWords ? said : `expected ${expected}`}` }
}

/**
 * The expectation of the route's original schema. Elysia checks with a coerced schema, whose message for a number is only
 * "union value"; and some of its own types, such as `t.Integer`, are a union of a number and its text.
 */
function expectationAt(schema: TSchema, path: string, value: unknown): Expectation | undefined {
  let looked = 0
  for (const error of Value.Errors(schema as never, value)) {
    if (error.path === path) return expectationsOf(error, 1)[0]
    if (++looked === MOST_LOOKED_AT) break
  }
  return undefined
}

/** An error hook of Elysia. */
export type ErrorHook = (context: HttpContext & { error: unknown }) => Response | undefined

/**
 * The error hook of a route. It answers all errors that hooks of the app have not answered.
 * @param pattern the pattern that the route calls, for the log
 * @param idempotent the option of the route
 */
export function answersErrors(
  answers: ErrorAnswers,
  schemas: SchemasByPart,
  pattern: string,
  idempotent?: boolean
): ErrorHook {
  // Elysia reads in this function's source which parts of the context it uses, and makes only those. So each part
  // is named here.
  return ({ error, request, set }) => {
    const context = { request, set }
    const converted = converting(error, schemas, request)
    if (converted === undefined && error !== undefined) return undefined
    const mayRepeat = isRepeatable(request, idempotent)
    return errorResponse(answers.of(converted, describeRequest(context, pattern), mayRepeat), context)
  }
}

/** An error that cannot even be read is left as it is: its answer is that of any unexpected error. */
function converting(error: unknown, schemas: SchemasByPart, request: Request): unknown {
  try {
    return fromElysia(error, schemas, request)
  } catch {
    return error
  }
}

/** Describes a request for the log, without its query, which may contain secrets. */
export function describeRequest(context: Identifiable, pattern?: string): string {
  const { request } = context
  const named = [...(pattern === undefined ? [] : [pattern]), `request ${requestIdOf(context)}`]
  return `${request.method} ${new URL(request.url).pathname} (${named.join(', ')})`
}

/** The data that a route sends if it has no `data` function. */
import { isTooDeep, MAX_DEPTH, RpcError } from '@elysia-microservices/transport/kit'
import type { Method } from './route-key.ts'

/** The parts of a request that make the data. */
export interface RequestParts {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
}

const BODYLESS: readonly Method[] = ['GET', 'HEAD', 'DELETE', 'OPTIONS']

/**
 * Merges the parts of a request to one object: properties of the body replace those of the query, and parameters of
 * the path replace both, so that a caller cannot override a parameter. The query is used only if the method has no
 * body, or if the route has a schema for the query. Without parameters and query, a body of any type is sent
 * unchanged.
 * @throws {RpcError} code `VALIDATION`: there are parameters or a query, and the body is not an object
 */
export function defaultData(
  method: Method,
  { params, query, body }: RequestParts,
  hasQuery: boolean
): unknown {
  const isBodyless = BODYLESS.includes(method)
  const fields = { ...((isBodyless || hasQuery) && (query as object)) }
  const hasFields = hasQuery || hasKeys(params)
  if (body === undefined || body === null) {
    return isBodyless || hasFields ? { ...fields, ...(params as object) } : (body ?? undefined)
  }
  // Elysia reads `application/octet-stream` as an ArrayBuffer, but bytes of messages are a Uint8Array.
  if (!hasFields && !isBodyless) return body instanceof ArrayBuffer ? new Uint8Array(body) : body
  if (!isPlain(body)) {
    const details = { path: 'body', expected: 'an object' }
    throw new RpcError({ code: 'VALIDATION', message: 'body: expected an object', details })
  }
  return { ...fields, ...body, ...(params as object) }
}

/** Checks the depth of a body. @throws {RpcError} code `VALIDATION`: the body is nested too deeply for any service */
export function checkBody(body: unknown): void {
  if (!isTooDeep(body)) return
  const expected = `at most ${MAX_DEPTH} levels of arrays and objects`
  throw new RpcError({
    code: 'VALIDATION',
    message: `body: expected ${expected}`,
    details: { path: 'body', expected }
  })
}

function hasKeys(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

function isPlain(value: unknown): value is object {
  return (
    typeof value === 'object' &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value) &&
    !(value instanceof ArrayBuffer)
  )
}

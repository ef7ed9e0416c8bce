/** The error that a route throws for Elysia's error hooks, whatever the functions of its user have thrown. */
import { MicroserviceError, OptionError, RpcError } from '@elysia-microservices/transport/kit'
import { pathPart } from '../schema/check.ts'

/** The fields that Elysia reads of an error, outside of any `try`. */
const READ_BY_ELYSIA = ['status', 'code', 'message', 'cause', 'response', 'toResponse', 'constructor']
/** How deep a body is searched for files. */
const DEPTH = 8

/**
 * The error of a request that has failed.
 * @param body the body of the request
 */
export function failureOf(error: unknown, body: unknown): unknown {
  try {
    if (error instanceof OptionError) return refusedFile(body) ?? error
    if (error instanceof MicroserviceError) return error
    if (typeof error === 'object' && error !== null) {
      for (const name of READ_BY_ELYSIA) Reflect.get(error, name)
      return error
    }
  } catch {
    // A getter threw, or the error is a revoked Proxy.
  }
  return new Error('A function of a route has thrown something that is no error', { cause: error })
}

/** The answer to a body with a file that the codec of the client cannot carry; `undefined` if there is no file. */
function refusedFile(body: unknown): RpcError | undefined {
  const path = pathOfFile(body, 'body', DEPTH)
  if (path === undefined) return undefined
  const expected = 'no file and no bytes'
  return new RpcError({
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: `${path}: expected ${expected}, because the service does not take them`,
    details: { path, expected }
  })
}

function pathOfFile(value: unknown, path: string, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null || depth === 0) return undefined
  if (value instanceof Blob || value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return path
  for (const [key, member] of Object.entries(value)) {
    const found = pathOfFile(member, path + pathPart(key), depth - 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** Errors of the application: the classes registered with `.error()`, and what callers get of such an error. */
import { RpcError, ValidationError } from '@elysia-microservices/transport/kit'

/** A class of errors. */
export type ErrorClass<Failure extends Error = Error> = abstract new (...args: never[]) => Failure

/** Error classes by their code. */
export type KnownErrors = ReadonlyMap<string, ErrorClass>

/** The code of an error for `onError`. */
export function codeOf(error: unknown, known: KnownErrors): string {
  for (const [code, type] of known) if (error instanceof type) return code
  if (error instanceof ValidationError) return 'VALIDATION'
  return error instanceof RpcError ? 'RPC' : 'UNKNOWN'
}

/**
 * The error as it leaves the handler. An error of a registered class becomes an `RpcError` with its code, message
 * and `details`; any other error is returned unchanged.
 */
export function toAnswer(error: unknown, known: KnownErrors): unknown {
  if (error instanceof RpcError) return error
  for (const [code, type] of known) {
    if (!(error instanceof type)) continue
    const { message, details } = error as Error & { details?: unknown }
    return Object.assign(new RpcError({ code, message, details }), { cause: error })
  }
  return error
}

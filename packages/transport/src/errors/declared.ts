/** Errors that are part of a pattern's contract: a code, and details of a known type. */
import { RpcError } from './answers.ts'
import { LocalError } from './local.ts'

/** An error of a pattern's contract: who catches it knows the type of its details by its code. */
export interface DeclaredError<Code extends string = string, Details = unknown> extends RpcError {
  readonly code: Code
  readonly details: Details
}

/** Makes an error by its code; a handler throws it, or returns it. */
export function declaredError(code: string, details?: unknown, message?: string): RpcError {
  return new RpcError({ code, details, ...(message !== undefined && { message }) })
}

/** The codes that are known of a type of errors: those that are not any text. */
type CodesOf<Failure> = Failure extends { readonly code: infer Code extends string }
  ? string extends Code
    ? never
    : Code
  : never

/** The codes that `isError` may ask for: those of the error's type, or, where it has none, any text. */
type AskedCode<Failure> = [CodesOf<Failure>] extends [never] ? string : CodesOf<Failure>

/** The errors of a type that have a code. */
type WithCode<Failure, Code extends string> =
  | Extract<Failure, { readonly code: Code }>
  | ([CodesOf<Failure>] extends [never] ? Failure & ErrorWith<Code> : never)

/** The fields that an error is known to have once its code is known. */
interface ErrorWith<Code extends string> {
  readonly code: Code
  readonly message: string
  readonly details?: unknown
}

/**
 * Whether an answer has a code. Where the type of the error says which codes there are, as that of
 * `client.safeRequest()` does, its `details` have their type from then on; so do those of the body of an error that a
 * gateway has answered. Local errors are never meant. Reading the error never throws.
 * @example
 * ```ts
 * import { isError } from 'elysia-microservices/client'
 *
 * function show(error: unknown) {
 *   return isError(error, 'OUT_OF_STOCK') ? `Sold out: ${JSON.stringify(error.details)}` : 'Try again later'
 * }
 * ```
 */
export function isError<Failure, const Code extends AskedCode<Failure>>(
  error: Failure,
  code: Code
): error is WithCode<Failure, Code> {
  try {
    if (typeof error !== 'object' || error === null || error instanceof LocalError) return false
    return (error as { readonly code?: unknown }).code === code
  } catch {
    return false
  }
}

/** Errors that are part of a pattern's contract: a code, and details of a known type. */
import { RpcError } from './answers.ts'
import { LocalError } from './local.ts'

/** An error of a pattern's contract: its code tells the type of its details. */
export interface DeclaredError<Code extends string = string, Details = unknown> extends RpcError {
  readonly code: Code
  readonly details: Details
}

/** Makes an error of the contract by its code. A handler throws or returns the error. */
export function declaredError(code: string, details?: unknown, message?: string): RpcError {
  return new RpcError({ code, details, ...(message !== undefined && { message }) })
}

/** The codes that a type of errors can have; none if the code can be any text. */
type CodesOf<Failure> = Failure extends { readonly code: infer Code extends string }
  ? string extends Code
    ? never
    : Code
  : never

/** The codes that `isError` may ask for: the codes of the error's type; if that type has none, any text. */
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
 * Whether an answer has a code. If the type of the error lists its codes, as the type of `client.safe.request()` does,
 * TypeScript knows the type of `details` after the check. The body of an error that a gateway has sent works as well.
 * The result is false for local errors. Reading the error never throws.
 * @example
 * ```ts
 * import { isError } from 'elysia-microservices/client'
 *
 * function show(error: unknown) {
 * return isError(error, 'OUT_OF_STOCK') ? `Sold out: ${JSON.stringify(error.details)}` : 'Try again later'
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

/** Errors that are part of a handler's contract: read once, and checked as they leave the handler. */
import {
  checkNames,
  ErrorAnswer,
  fieldsOfError,
  isErrorStatus,
  OptionError,
  RpcError,
  readFailure
} from '@elysia-microservices/transport/kit'
import { ResponseValidationError } from './response-violation.ts'
import { checkOf, isSchema } from './schema-check.ts'
import type { AnySchema } from './schema-types.ts'

/** The declaration of an error of a contract: the schema of its details, or an object with a status beside it. */
export type ErrorDeclaration =
  | AnySchema
  | {
      /** Schema of the details. Default: the error has none. */
      readonly details?: AnySchema | undefined
      /** The status of HTTP, 400 to 599, with which a gateway answers. Default: that of the code's name, or 500. */
      readonly status?: number | undefined
    }

/** Errors of a contract by their codes. */
export type ErrorDeclarations = Readonly<Record<string, ErrorDeclaration>>

/** One error of a contract, ready to be checked. */
export interface CheckedError {
  readonly schema: AnySchema | undefined
  readonly status: number | undefined
  /** Gives the details as the schema wants them, or a promise of them. @throws {ResponseValidationError} */
  check(details: unknown, cause: unknown): unknown
}

/** Errors of a contract by code. */
export type CheckedErrors = ReadonlyMap<string, CheckedError>

/**
 * Codes that say something of every call, whatever its pattern: callers take one for ours, and gateways keep
 * its details to themselves.
 */
const OURS: ReadonlySet<string> = new Set([
  'CANCELED',
  'CONNECTION',
  'INTERNAL',
  'OPTION',
  'OVERLOADED',
  'PATTERN_NOT_FOUND',
  'PAYLOAD_TOO_LARGE',
  'PROTOCOL',
  'REJECTED',
  'TIMEOUT',
  'UNAUTHENTICATED',
  'UNKNOWN',
  'VALIDATION'
])

/**
 * Reads the errors of a contract.
 * @throws {OptionError} a code is one of this library's, or a declaration is invalid
 */
export function readErrors(given: unknown, path = 'options.errors'): CheckedErrors {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || isSchema(given))
    throw OptionError.expected(path, 'an object of schemas by code', given)
  return new Map(Object.entries(given).map(([code, one]) => [code, readError(code, one, `${path}.${code}`)]))
}

function readError(code: string, given: unknown, path: string): CheckedError {
  if (code === '' || OURS.has(code))
    throw new OptionError(path, `${path}: '${code}' is a code of this library; choose another one`)
  if (isSchema(given)) return checkedError(code, given, undefined, path)
  if (typeof given !== 'object' || given === null)
    throw OptionError.expected(path, 'a schema of the details, or { details, status }', given)
  checkNames(path, given, ['details', 'status'])
  const { details, status } = given as { readonly details?: AnySchema; readonly status?: unknown }
  if (status !== undefined && !isErrorStatus(status))
    throw OptionError.expected(`${path}.status`, 'a status from 400 to 599', status)
  return checkedError(code, details, status, `${path}.details`)
}

function checkedError(
  code: string,
  schema: AnySchema | undefined,
  status: number | undefined,
  path: string
): CheckedError {
  const root = `errors.${code}`
  const none = (received: unknown) => {
    if (received === undefined) return undefined
    throw new ResponseValidationError({ path: '', expected: 'no details', received }, undefined, root)
  }
  const check =
    schema === undefined
      ? none
      : checkOf(
          schema,
          'response',
          path,
          ({ violation }) => new ResponseValidationError(violation, undefined, root)
        )
  return {
    schema,
    status,
    check(details, cause) {
      const fail = (error: unknown): never => {
        throw error instanceof Error ? Object.assign(error, { cause }) : error
      }
      try {
        const checked = check(details)
        return checked instanceof Promise ? checked.catch(fail) : checked
      } catch (error) {
        return fail(error)
      }
    }
  }
}

/** @throws {OptionError} it is no list of codes */
export function readPasses(given: unknown): ReadonlySet<string> {
  if (!Array.isArray(given) || given.some((code) => typeof code !== 'string'))
    throw OptionError.expected('options.passes', "a list of codes, such as ['OUT_OF_STOCK']", given)
  return new Set(given)
}

/** The error of a further service as an answer of this one's own, if its code may pass; any other error as it is. */
export function passed(error: unknown, passes: ReadonlySet<string>): unknown {
  if (!(error instanceof RpcError) || error.received === undefined) return error
  return passes.has(error.code) ? error.pass() : error
}

/**
 * The error that leaves the handler: one of the contract with its details as the schema wants them and with its status;
 * any other as it is. May be a promise.
 * @throws {ResponseValidationError} the details fail the schema: a failure of the handler, which is no answer
 */
export function asDeclared(error: unknown, errors: CheckedErrors): unknown {
  const answer = answerOf(error)
  const declared = answer?.code === undefined ? undefined : errors.get(answer.code)
  if (answer === undefined || declared === undefined) return error
  const leaving = (details: unknown) => {
    const status = answer.status ?? declared.status
    if (details === answer.details && status === answer.status) return error
    if (error instanceof RpcError)
      return Object.assign(new RpcError({ code: error.code, message: error.message, details, status }), {
        cause: error
      })
    return new ErrorAnswer(withDetails(answer.value, details, status))
  }
  const checked = declared.check(answer.details, error)
  // A thenable is none of ours: details may have a `then`, which nobody should call.
  return checked instanceof Promise ? checked.then(leaving) : leaving(checked)
}

/**
 * The answer that a caller would get for an error; `undefined`: none. Whatever a handler has thrown, reading it never
 * throws.
 */
function answerOf(error: unknown) {
  try {
    const failure = readFailure(error)
    if (!('answer' in failure)) return undefined
    const value = Object(failure.answer) as Readonly<Record<string, unknown>>
    const { code, details } = fieldsOfError(value)
    const status = [value['statusCode'], value['status']].find((one) => typeof one === 'number')
    return { value, code, details, status }
  } catch {
    return undefined
  }
}

/** An answer of Nest's form with other details: they stay where they were, under `details` or beside the code. */
function withDetails(
  { code, message, status, ...rest }: Readonly<Record<string, unknown>>,
  details: unknown,
  statusCode: unknown
): object {
  return {
    ...(status !== undefined && { status }),
    code,
    message,
    ...(statusCode !== undefined && { statusCode }),
    ...('details' in rest ? { details } : Object(details))
  }
}

/** Errors that a handler declares: read once, and checked when they leave the handler. */
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

/** The declaration of an error: the schema of its details, or an object with `details` and `status`. */
export type ErrorDeclaration =
  | AnySchema
  | {
      /** Schema of the details. Default: the error has no details. */
      readonly details?: AnySchema | undefined
      /**
       * The HTTP status, 400 to 599, with which a gateway answers this error. Default: the status that is named
       * like the code, or 500.
       */
      readonly status?: number | undefined
    }

/** Declared errors by their codes. */
export type ErrorDeclarations = Readonly<Record<string, ErrorDeclaration>>

/** One declared error, ready to be checked. */
export interface CheckedError {
  readonly schema: AnySchema | undefined
  readonly status: number | undefined
  /**
   * Returns the details as the schema wants them, or a promise of them. @throws {ResponseValidationError} the
   * details fail the schema
   */
  check(details: unknown, cause: unknown): unknown
}

/** Declared errors by code. */
export type CheckedErrors = ReadonlyMap<string, CheckedError>

/**
 * Codes that this library itself uses for calls of every pattern. A handler may not declare them: callers would
 * take its error for one of the library, and gateways would hide its details.
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
 * Reads the declared errors.
 * @throws {OptionError} a code is reserved by this library, or a declaration is invalid
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

/** Reads the option `passes`. @throws {OptionError} the value is not a list of codes */
export function readPasses(given: unknown): ReadonlySet<string> {
  if (!Array.isArray(given) || given.some((code) => typeof code !== 'string'))
    throw OptionError.expected('options.passes', "a list of codes, such as ['OUT_OF_STOCK']", given)
  return new Set(given)
}

/**
 * If the error of a further service has a code that may pass, returns it as this service's own answer. Any other
 * error is returned unchanged.
 */
export function passed(error: unknown, passes: ReadonlySet<string>): unknown {
  if (!(error instanceof RpcError) || error.received === undefined) return error
  return passes.has(error.code) ? error.pass() : error
}

/**
 * Returns the error as it leaves the handler: a declared error with its details as the schema wants them and with
 * its status, any other error unchanged. The result may be a promise.
 * @throws {ResponseValidationError} the details fail the schema. This is a failure of the handler, so the caller
 * does not see it
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
  // `instanceof Promise` and not `then` is tested: details may have a method `then`, which must not be called.
  return checked instanceof Promise ? checked.then(leaving) : leaving(checked)
}

/**
 * The answer that a caller would get for an error; `undefined` if the caller would get none. Never throws, whatever
 * the handler has thrown.
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

/** Replaces the details of an answer in Nest's form. They stay where they were: under `details`, or beside the code. */
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

/** The schemas of a handler, which are compiled once, before the service listens. */
import { describe, isStream, ValidationError } from '@elysia-microservices/transport/kit'
import type { Check, SchemaViolation } from './check.ts'
import { type CheckedErrors, type ErrorDeclarations, readErrors, readPasses } from './declared-errors.ts'
import { mapStream } from './mapped-stream.ts'
import { ResponseValidationError } from './response-violation.ts'
import { checkOf } from './schema-check.ts'
import type { AnySchema } from './schema-types.ts'
import { itemsOf } from './typebox.ts'

/** Schemas in the form in which users give them. */
export interface SchemaOptions {
  readonly data?: AnySchema | undefined
  readonly headers?: AnySchema | undefined
  readonly response?: AnySchema | undefined
  /** The errors that the handler declares. */
  readonly errors?: ErrorDeclarations | undefined
  /** Error codes of further services whose errors are passed on to callers unchanged. */
  readonly passes?: readonly string[] | undefined
}

/** The schema of each check, for descriptions. */
const sources = new WeakMap<Check, AnySchema>()

/** The schema from which a check was compiled. */
export function sourceOf(check: Check): AnySchema | undefined {
  return sources.get(check)
}

/** Compiled schemas. The checks of data and headers throw a `ValidationError`, which is sent to the caller. */
export interface MessageSchema {
  readonly data?: Check
  readonly headers?: Check
  readonly response?: Check
  readonly errors?: CheckedErrors
  readonly passes?: ReadonlySet<string>
}

/**
 * Merges the schemas of guards and handlers. A later schema replaces an earlier one; declared errors are added to
 * each other.
 */
export function mergeSchemas(...schemas: readonly MessageSchema[]): MessageSchema {
  const errors = schemas.flatMap((schema) => [...(schema.errors ?? [])])
  const passes = schemas.flatMap((schema) => [...(schema.passes ?? [])])
  return {
    ...Object.assign({}, ...schemas),
    ...(errors.length > 0 && { errors: new Map(errors) }),
    ...(passes.length > 0 && { passes: new Set(passes) })
  }
}

/**
 * Compiles schemas.
 * @throws {OptionError} a schema is neither TypeBox's nor a Standard Schema, or a declared error is invalid
 */
export function compileSchemas({ data, headers, response, errors, passes }: SchemaOptions): MessageSchema {
  return {
    ...(data && { data: remembered(data, dataCheck(data)) }),
    ...(headers && {
      headers: remembered(headers, checkOf(headers, 'headers', 'options.headers', callersFault('headers')))
    }),
    ...(response && {
      response: remembered(
        response,
        checkOf(
          response,
          'response',
          'options.response',
          (violation) => new ResponseValidationError(violation.violation, violation)
        )
      )
    }),
    ...(errors && { errors: readErrors(errors) }),
    ...(passes && { passes: readPasses(passes) })
  }
}

function remembered(schema: AnySchema, check: Check): Check {
  sources.set(check, schema)
  return check
}

/**
 * Checks the data of a message. The data of a channel is a stream, so each of its values is checked when it is
 * read.
 */
function dataCheck(schema: AnySchema): Check {
  const items = itemsOf(schema)
  const fault = callersFault('data')
  if (items === undefined) return checkOf(schema, 'data', 'options.data', fault)
  const check = checkOf(items, 'data', 'options.data', fault)
  return (value) => {
    if (typeof value === 'object' && value !== null && isStream(value)) return mapStream(value, check)
    throw new ValidationError('data', 'a stream', value)
  }
}

function callersFault(root: string) {
  return ({ violation: { path, expected, received, message }, all }: SchemaViolation) => {
    const where = `${root}${path}`
    const issues = all.map((one) => ({
      path: `${root}${one.path}`,
      expected: one.expected,
      received: describe(one.received)
    }))
    return new ValidationError(
      where,
      expected,
      received,
      message && `${where}: ${message}`,
      undefined,
      issues
    )
  }
}

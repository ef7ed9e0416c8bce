/** The schemas of a handler, which are compiled once, before the service listens. */
import { describe, ValidationError } from '@elysia-microservices/transport/kit'
import { allOf, remembered, sourcesOf, streamCheck } from './all-of.ts'
import type { Check, SchemaViolation } from './check.ts'
import { type CheckedErrors, type ErrorDeclarations, readErrors, readPasses } from './declared-errors.ts'
import { ResponseValidationError } from './response-violation.ts'
import { checkOf, isSchema } from './schema-check.ts'
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

/** Compiled schemas. The checks of data and headers throw a `ValidationError`, which is sent to the caller. */
export interface MessageSchema {
  readonly data?: Check
  readonly headers?: Check
  readonly response?: Check
  readonly errors?: CheckedErrors
  readonly passes?: ReadonlySet<string>
  /** Schemas that hold beside these. A later schema does not replace them. */
  readonly standalone?: readonly MessageSchema[]
}

/**
 * Merges the schemas of guards and handlers. A later schema replaces an earlier one that is not standalone; standalone
 * schemas and declared errors are added to each other.
 */
export function mergeSchemas(...schemas: readonly MessageSchema[]): MessageSchema {
  const standalone = schemas.flatMap((schema) => schema.standalone ?? [])
  const errors = schemas.flatMap((schema) => [...(schema.errors ?? [])])
  const passes = schemas.flatMap((schema) => [...(schema.passes ?? [])])
  return {
    ...Object.assign({}, ...schemas),
    ...(errors.length > 0 && { errors: new Map(errors) }),
    ...(passes.length > 0 && { passes: new Set(passes) }),
    ...(standalone.length > 0 && { standalone })
  }
}

/** The parts of a message that have schemas. */
const PARTS = ['headers', 'data', 'response'] as const

/** The same schemas as standalone ones, which no later schema replaces. */
export function asStandalone({ data, headers, response, ...others }: MessageSchema): MessageSchema {
  if ((data ?? headers ?? response) === undefined) return others
  const own = { ...(data && { data }), ...(headers && { headers }), ...(response && { response }) }
  return { ...others, standalone: [...(others.standalone ?? []), own] }
}

/** One check for each part of a message: the value must fit all schemas that are there for the part. */
export function combined({ standalone, ...own }: MessageSchema): MessageSchema {
  if (standalone === undefined) return own
  const all = [...standalone, own]
  const checks = PARTS.flatMap((part) => {
    const given = all.flatMap((schema) => schema[part] ?? [])
    return given.length === 0 ? [] : [[part, allOf(given)]]
  })
  return { ...own, ...Object.fromEntries(checks) }
}

/**
 * Whether the schemas of the data are for a stream; `undefined` without a schema.
 * @param schema the result of `combined`
 */
export function takesStream({ data }: MessageSchema): boolean | undefined {
  return data && sourcesOf(data).some((source) => itemsOf(source) !== undefined)
}

/**
 * Compiles schemas.
 * @throws {OptionError} a schema is neither TypeBox's nor a Standard Schema, or a declared error is invalid
 */
export function compileSchemas({ data, headers, response, errors, passes }: SchemaOptions): MessageSchema {
  return {
    ...(data && { data: dataCheck(data) }),
    ...(headers && {
      headers: remembered(checkOf(headers, 'headers', 'options.headers', callersFault('headers')), headers)
    }),
    ...(response && {
      response: remembered(
        checkOf(
          response,
          'response',
          'options.response',
          (violation) => new ResponseValidationError(violation.violation, violation)
        ),
        response
      )
    }),
    ...(errors && { errors: readErrors(errors) }),
    ...(passes && { passes: readPasses(passes) })
  }
}

/**
 * Checks the data of a message. The data of a channel is a stream, so each of its values is checked when it is
 * read.
 */
function dataCheck(schema: AnySchema): Check {
  const items = isSchema(schema) ? itemsOf(schema) : undefined
  const check = checkOf(items ?? schema, 'data', 'options.data', callersFault('data'))
  return items === undefined ? remembered(check, schema) : remembered(streamCheck(check), schema, check)
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

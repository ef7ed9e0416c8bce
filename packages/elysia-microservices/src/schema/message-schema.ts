/** The schemas of a handler: compiled once, before the service listens. */
import { describe, isStream, OptionError, ValidationError } from '@elysia-microservices/transport/kit'
import { type Check, SchemaViolation, type Violation } from './check.ts'
import { mapStream } from './mapped-stream.ts'
import type { AnySchema } from './schema-types.ts'
import { standardCheck } from './standard-check.ts'
import { isTypeBox, itemsOf, lazyTypeBoxCheck } from './typebox.ts'
import type { SchemaRole } from './typebox-check.ts'

/** Schemas as they are given. */
export interface SchemaOptions {
  readonly data?: AnySchema | undefined
  readonly headers?: AnySchema | undefined
  readonly response?: AnySchema | undefined
}

/** The schema from which each check was made, for descriptions. */
const sources = new WeakMap<Check, AnySchema>()

/** The schema that a check was made of. */
export function sourceOf(check: Check): AnySchema | undefined {
  return sources.get(check)
}

/** Schemas as they are used. The checks of data and headers throw a `ValidationError`, which is for the caller. */
export interface MessageSchema {
  readonly data?: Check
  readonly headers?: Check
  readonly response?: Check
}

/** A handler's answer is not what its schema says: the server's error, of which a caller learns nothing. */
export class ResponseValidationError extends Error {
  override name = 'ResponseValidationError'
  /** Where the value stands, such as `response.items[2]`. */
  readonly path: string
  /** What was expected there, in words. */
  readonly expected: string
  /** What stood there. */
  readonly received: unknown

  constructor({ path, expected, received, message }: Violation, cause: unknown) {
    super(`response${path}: ${message ?? `expected ${expected}`}`, { cause })
    this.path = `response${path}`
    this.expected = expected
    this.received = received
  }
}

/**
 * Compiles schemas.
 * @throws {OptionError} one is neither TypeBox's nor a Standard Schema
 */
export function compileSchemas({ data, headers, response }: SchemaOptions): MessageSchema {
  return {
    ...(data && { data: remembered(data, dataCheck(data)) }),
    ...(headers && {
      headers: remembered(headers, translated(checkOf(headers, 'headers'), callersFault('headers')))
    }),
    ...(response && {
      response: remembered(
        response,
        translated(
          checkOf(response, 'response'),
          (violation) => new ResponseValidationError(violation.violation, violation)
        )
      )
    })
  }
}

function remembered(schema: AnySchema, check: Check): Check {
  sources.set(check, schema)
  return check
}

/** A channel is checked value by value, while it is read. */
function dataCheck(schema: AnySchema): Check {
  const items = itemsOf(schema)
  const fault = callersFault('data')
  if (items === undefined) return translated(checkOf(schema, 'data'), fault)
  const check = translated(checkOf(items, 'data'), fault)
  return (value) => {
    if (typeof value === 'object' && value !== null && isStream(value)) return mapStream(value, check)
    throw new ValidationError('data', 'a stream', value)
  }
}

function checkOf(schema: AnySchema, role: SchemaRole): Check {
  if (isTypeBox(schema)) return lazyTypeBoxCheck(schema, role)
  if (typeof schema['~standard']?.validate === 'function') return standardCheck(schema)
  throw OptionError.expected(`options.${role}`, "a schema of Elysia's t or a Standard Schema", schema)
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

/** The check, with each violation turned into the error for whoever is at fault. */
function translated(check: Check, toError: (violation: SchemaViolation) => Error): Check {
  const rethrow = (error: unknown): never => {
    throw error instanceof SchemaViolation ? toError(error) : error
  }
  return (value) => {
    try {
      const checked = check(value)
      return checked instanceof Promise ? checked.catch(rethrow) : checked
    } catch (error) {
      return rethrow(error)
    }
  }
}

/** Checks by a Standard Schema. */
import { isPromise, whenThere } from '../hooks/promise.ts'
import { type Check, pathPart, SchemaViolation } from './check.ts'
import type { StandardIssue, StandardResult, StandardSchema } from './standard-schema.ts'

/** The check of a schema; it gives promises where the schema does. */
export function standardCheck(schema: StandardSchema): Check {
  const validate = isZod(schema) ? zodValidate(schema) : schema['~standard'].validate
  return (value) => whenThere(validate(value), (result) => acceptedValue(result, value))
}

/** A schema of zod, which can be told that it is asynchronous. */
interface ZodSchema extends StandardSchema {
  safeParseAsync(value: unknown): Promise<{
    readonly success: boolean
    readonly data?: unknown
    readonly error?: { readonly issues: readonly StandardIssue[] }
  }>
}

function isZod(schema: StandardSchema): schema is ZodSchema {
  return (
    schema['~standard'].vendor === 'zod' &&
    typeof (schema as Partial<ZodSchema>).safeParseAsync === 'function'
  )
}

/**
 * zod's own `validate` runs a schema as if it were synchronous, and once more if it is not. What an asynchronous
 * refinement throws in the first run is a rejection that nobody handles, which ends a Node process. So a schema is
 * taken for asynchronous until a value has passed it and has been found to need no promise.
 */
function zodValidate(schema: ZodSchema): (value: unknown) => unknown {
  const { validate } = schema['~standard']
  let isAsync: boolean | undefined
  return (value) => {
    if (isAsync === false) {
      const result = validate(value)
      isAsync = isPromise(result)
      return result
    }
    return schema.safeParseAsync(value).then((parsed) => {
      if (!parsed.success) return { issues: parsed.error?.issues ?? [] }
      if (isAsync === undefined) {
        const result = validate(value)
        isAsync = isPromise(result)
        // It has passed, so that it will again; if not, that is no failure of this message.
        if (isAsync) (result as Promise<unknown>).catch(() => {})
      }
      return { value: parsed.data }
    })
  }
}

/** @throws {TypeError} the schema has given neither a value nor issues: what is not checked is not taken */
function acceptedValue(given: unknown, value: unknown): unknown {
  const result = given as StandardResult<unknown>
  if (result.issues === undefined) {
    if ('value' in result) return result.value
    throw new TypeError("A schema's validate() gave neither a value nor issues")
  }
  const [issue] = result.issues
  if (issue === undefined) throw new SchemaViolation({ path: '', expected: 'another value', received: value })
  const keys = keysOf(issue)
  throw new SchemaViolation({
    path: keys.map(pathPart).join(''),
    expected: issue.message,
    received: keys.reduce<unknown>(
      (at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key],
      value
    ),
    message: issue.message
  })
}

function keysOf(issue: StandardIssue): PropertyKey[] {
  return (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part))
}

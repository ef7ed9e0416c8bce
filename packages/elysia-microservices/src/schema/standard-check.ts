/** Checks by a Standard Schema. */
import { whenThere } from '../hooks/promise.ts'
import { type Check, pathPart, SchemaViolation } from './check.ts'
import type { StandardIssue, StandardResult, StandardSchema } from './standard-schema.ts'
import { asyncZod } from './zod.ts'

/** The check of a schema; it gives promises where the schema does. */
export function standardCheck(schema: StandardSchema): Check {
  const waiting = asyncZod(schema)
  if (waiting !== undefined) return (value) => waiting(value).then((settled) => acceptedValue(settled, value))
  const standard = schema['~standard']
  return (value) => {
    return whenThere(standard.validate(value), (result) => acceptedValue(result, value))
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

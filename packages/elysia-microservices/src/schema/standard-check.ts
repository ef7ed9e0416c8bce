/** Checks values with a Standard Schema. */
import { whenThere } from '../hooks/promise.ts'
import { type Check, MOST_VIOLATIONS, pathPart, SchemaViolation, type Violation } from './check.ts'
import type { StandardIssue, StandardResult, StandardSchema } from './standard-schema.ts'
import { asyncZod } from './zod.ts'

/** Makes the check for a schema. The check returns a promise if the schema does. */
export function standardCheck(schema: StandardSchema): Check {
  const waiting = asyncZod(schema)
  if (waiting !== undefined) return (value) => waiting(value).then((settled) => acceptedValue(settled, value))
  const standard = schema['~standard']
  return (value) => {
    return whenThere(standard.validate(value), (result) => acceptedValue(result, value))
  }
}

/** @throws {TypeError} the schema has returned neither a value nor issues, so the value counts as not checked */
function acceptedValue(given: unknown, value: unknown): unknown {
  const result = given as StandardResult<unknown>
  if (result.issues === undefined) {
    if ('value' in result) return result.value
    throw new TypeError("A schema's validate() has returned neither a value nor issues")
  }
  const all = result.issues.slice(0, MOST_VIOLATIONS).map((issue) => violationOf(issue, value))
  const first = all[0] ?? { path: '', expected: 'another value', received: value }
  throw new SchemaViolation(first, undefined, all.length === 0 ? [first] : all)
}

function violationOf(issue: StandardIssue, value: unknown): Violation {
  const { message } = issue
  const keys = keysOf(issue)
  const received = keys.reduce<unknown>(
    (at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key],
    value
  )
  return { path: keys.map(pathPart).join(''), expected: message, received, message }
}

function keysOf(issue: StandardIssue): PropertyKey[] {
  return (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part))
}

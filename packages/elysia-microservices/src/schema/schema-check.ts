/** Makes the check for a schema of any library. */
import { OptionError } from '@elysia-microservices/transport/kit'
import { type Check, SchemaViolation } from './check.ts'
import type { AnySchema } from './schema-types.ts'
import { standardCheck } from './standard-check.ts'
import { isTypeBox, lazyTypeBoxCheck } from './typebox.ts'
import type { SchemaRole } from './typebox-check.ts'

/** Whether a value is a schema of TypeBox or a Standard Schema. */
export function isSchema(value: unknown): value is AnySchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return isTypeBox(value) || typeof (value as AnySchema & object)['~standard']?.validate === 'function'
}

/**
 * Makes the check for a schema. The check throws the error that `toError` makes from a violation.
 * @param path the option's name, for errors
 * @throws {OptionError} the value is neither a TypeBox schema nor a Standard Schema
 */
export function checkOf(
  schema: AnySchema,
  role: SchemaRole,
  path: string,
  toError: (violation: SchemaViolation) => Error
): Check {
  if (!isSchema(schema))
    throw OptionError.expected(path, "a schema of Elysia's t or a Standard Schema", schema)
  const check = isTypeBox(schema) ? lazyTypeBoxCheck(schema, role) : standardCheck(schema)
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

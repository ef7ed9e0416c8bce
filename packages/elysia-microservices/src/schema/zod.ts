/**
 * zod tries a schema without waiting first, and again if a function of it has given a promise. Nobody has the promise
 * of the first time: one that rejects, because a refinement throws, is an unhandled rejection, which ends a process on
 * Node. Schemas with async functions are therefore parsed the way that waits at once.
 */
import type { StandardIssue, StandardResult, StandardSchema } from './standard-schema.ts'

/** The parts of zod that are used, as far as they are there. */
interface ZodSchema extends StandardSchema {
  safeParseAsync?(value: unknown): Promise<
    | { readonly success: true; readonly data: unknown }
    | {
        readonly success: false
        readonly error: { readonly issues: readonly StandardIssue[] }
      }
  >
}

interface ZodDefinition {
  readonly check?: unknown
  readonly fn?: unknown
}

/** The check of a zod schema that has async functions, or may have; `undefined` for all others. */
export function asyncZod(
  schema: StandardSchema
): ((value: unknown) => Promise<StandardResult<unknown>>) | undefined {
  const zod: ZodSchema = schema
  if (schema['~standard'].vendor !== 'zod' || typeof zod.safeParseAsync !== 'function') return undefined
  if (!hasAsyncFunction(schema, new Set())) return undefined
  return async (value) => {
    const result = await zod.safeParseAsync?.(value)
    return result?.success === false ? result.error : { value: result?.data }
  }
}

/** Looks through the definition of a schema, and those in it. */
function hasAsyncFunction(part: unknown, seen: Set<unknown>): boolean {
  if (typeof part === 'function') return part.constructor.name === 'AsyncFunction'
  if (typeof part !== 'object' || part === null || seen.has(part)) return false
  seen.add(part)
  const { _zod: inner } = part as { readonly _zod?: { readonly def?: ZodDefinition } }
  // The definition of `superRefine` hides its function.
  if (inner?.def?.check === 'custom' && inner.def.fn === undefined) return true
  return Object.values(inner?.def ?? part).some((member) => hasAsyncFunction(member, seen))
}

/**
 * Parses zod schemas that have async functions. zod first parses a schema synchronously, and parses again if one of
 * the schema's functions has returned a promise. Nobody awaits that first promise: if it rejects because a
 * refinement throws, the rejection is unhandled, which ends a process on Node. So schemas with async functions are
 * parsed asynchronously at once.
 */
import type { StandardIssue, StandardResult, StandardSchema } from './standard-schema.ts'

/** The parts of zod that are used here; each of them may be missing. */
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

/** The check for a zod schema that has async functions, or may have them; `undefined` for all other schemas. */
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

/** Searches the definition of a schema, and the schemas in it, for async functions. */
function hasAsyncFunction(part: unknown, seen: Set<unknown>): boolean {
  if (typeof part === 'function') return part.constructor.name === 'AsyncFunction'
  if (typeof part !== 'object' || part === null || seen.has(part)) return false
  seen.add(part)
  const { _zod: inner } = part as { readonly _zod?: { readonly def?: ZodDefinition } }
  // The definition of `superRefine` hides its function, so the function may be async.
  if (inner?.def?.check === 'custom' && inner.def.fn === undefined) return true
  return Object.values(inner?.def ?? part).some((member) => hasAsyncFunction(member, seen))
}

/** A compiled schema: a function that takes values, and the error that it throws. */

/** A violation of a schema. */
export interface Violation {
  /** Where, from the root of the value: `.items[2].price`; empty for the value itself. */
  readonly path: string
  /** The expected value, in words. */
  readonly expected: string
  /** The value found there. */
  readonly received: unknown
  /** The sentence of the schema's library, where it is better than ours. */
  readonly message?: string
}

/** Most violations of one value that are told: callers choose how many there are. */
export const MOST_VIOLATIONS = 32

/** Thrown by a check. Becomes the caller's error or the server's, depending on whose value it was. */
export class SchemaViolation extends Error {
  override name = 'SchemaViolation'
  /** The first. */
  readonly violation: Violation
  /** All of them, the first of them first: at most `MOST_VIOLATIONS`. */
  readonly all: readonly Violation[]

  constructor(violation: Violation, cause?: unknown, all: readonly Violation[] = [violation]) {
    super(violation.message ?? `expected ${violation.expected}`, cause === undefined ? undefined : { cause })
    this.violation = violation
    this.all = all
  }
}

/**
 * Gives the value as the schema wants it: with defaults, decoded, without unknown properties. A promise of
 * it only if the schema is asynchronous.
 * @throws {SchemaViolation} the value fails the schema; a promise rejects with it
 */
export type Check = (value: unknown) => unknown

/** One more part of a path: `.name`, `[2]`, or `["odd name"]`. */
export function pathPart(key: PropertyKey): string {
  const text = String(key)
  if (/^\d+$/.test(text)) return `[${text}]`
  return /^[\w$-]+$/.test(text) ? `.${text}` : `[${JSON.stringify(text)}]`
}

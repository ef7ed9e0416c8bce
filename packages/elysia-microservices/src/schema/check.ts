/** A compiled schema: a function that checks values, and the error that this function throws. */

/** A violation of a schema. */
export interface Violation {
  /** The path from the root of the value, such as `.items[2].price`; empty for the value itself. */
  readonly path: string
  /** The expected value, in words. */
  readonly expected: string
  /** The value that was found at `path`. */
  readonly received: unknown
  /** The sentence of the schema's library, if it is better than the sentence of this library. */
  readonly message?: string
}

/** How many violations of one value are reported at most. Without a limit, callers could make errors of any size. */
export const MOST_VIOLATIONS = 32

/** Thrown by a check. It becomes an error of the caller or of the service, depending on whose value was checked. */
export class SchemaViolation extends Error {
  override name = 'SchemaViolation'
  /** The first violation. */
  readonly violation: Violation
  /** All violations, beginning with `violation`: at most `MOST_VIOLATIONS`. */
  readonly all: readonly Violation[]

  constructor(violation: Violation, cause?: unknown, all: readonly Violation[] = [violation]) {
    super(violation.message ?? `expected ${violation.expected}`, cause === undefined ? undefined : { cause })
    this.violation = violation
    this.all = all
  }
}

/**
 * Returns the value as the schema wants it: with defaults, decoded, without unknown properties. The result is a
 * promise only if the schema is asynchronous.
 * @throws {SchemaViolation} the value fails the schema; a promise rejects with this error
 */
export type Check = (value: unknown) => unknown

/** The text of one more step of a path: `.name`, `[2]`, or `["odd name"]`. */
export function pathPart(key: PropertyKey): string {
  const text = String(key)
  if (/^\d+$/.test(text)) return `[${text}]`
  return /^[\w$-]+$/.test(text) ? `.${text}` : `[${JSON.stringify(text)}]`
}

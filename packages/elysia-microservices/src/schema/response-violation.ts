/** The error of a handler whose answer fails the answer's schema. */
import type { Violation } from './check.ts'

/**
 * A handler's answer, or the details of an error that the handler declares, fail their schema. This is a mistake in
 * the service, so callers get no details of it.
 */
export class ResponseValidationError extends Error {
  override name = 'ResponseValidationError'
  /** The path of the value, such as `response.items[2]` or `errors.OUT_OF_STOCK.left`. */
  readonly path: string
  /** The expected value, in words. */
  readonly expected: string
  /** The value that was found at `path`. */
  readonly received: unknown

  constructor({ path, expected, received, message }: Violation, cause: unknown, root = 'response') {
    super(`${root}${path}: ${message ?? `expected ${expected}`}`, cause === undefined ? undefined : { cause })
    this.path = `${root}${path}`
    this.expected = expected
    this.received = received
  }
}

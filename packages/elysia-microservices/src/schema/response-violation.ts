/** The error of a handler whose answer fails its schema. */
import type { Violation } from './check.ts'

/**
 * A handler's answer, or the details of an error that it has declared, are not what their schema says: the server's
 * error, of which a caller learns nothing.
 */
export class ResponseValidationError extends Error {
  override name = 'ResponseValidationError'
  /** Where the value stands, such as `response.items[2]` or `errors.OUT_OF_STOCK.left`. */
  readonly path: string
  /** The expected value, in words. */
  readonly expected: string
  /** The value found there. */
  readonly received: unknown

  constructor({ path, expected, received, message }: Violation, cause: unknown, root = 'response') {
    super(`${root}${path}: ${message ?? `expected ${expected}`}`, cause === undefined ? undefined : { cause })
    this.path = `${root}${path}`
    this.expected = expected
    this.received = received
  }
}

/** The patterns of a group's handlers, with the prefix of the group. */
import { describe, OptionError } from '@elysia-microservices/transport/kit'
import { type HandlerPattern, ONE_SEGMENT, THE_REST } from './handler-pattern.ts'

/**
 * Adds a prefix to a pattern: the result is one text whose first segments are the prefix.
 * @throws {OptionError} the pattern is an object or a RegExp, which cannot have a prefix
 */
export function prefixPattern(prefix: string, pattern: HandlerPattern): string {
  if (typeof pattern === 'string' || typeof pattern === 'number') return `${prefix}.${pattern}`
  throw new OptionError(
    'pattern',
    `A pattern in the group '${prefix}' must be a text or a number, but is ${describe(pattern)}`
  )
}

/**
 * Checks the prefix of a group.
 * @throws {OptionError} the prefix is empty, or has wildcards
 */
export function assertPrefix(prefix: unknown): asserts prefix is string {
  const segments = typeof prefix === 'string' ? prefix.split('.') : ['']
  if (segments.some((segment) => segment === '' || segment === ONE_SEGMENT || segment === THE_REST)) {
    throw OptionError.expected('prefix', 'text without wildcards and empty segments', prefix)
  }
}

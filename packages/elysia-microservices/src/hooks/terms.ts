/** The options `timeout`, `idempotent` and `streams` of a handler, which are about its work as a whole. */
import { milliseconds, mustBeBoolean, OptionError } from '@elysia-microservices/transport/kit'
import { type KnownStreams, streamsOf } from './streams.ts'

/** The checked options. */
export interface HandlerTerms {
  /** Milliseconds that the handler may take; missing: as many as its caller waits. */
  readonly timeout?: number
  /** Says that running the handler twice does no harm. */
  readonly idempotent?: true
  /** Whether data and answer are streams; missing: nothing is known. */
  readonly streams?: KnownStreams
}

/** Why the handler of an event has no option `idempotent`. */
const TWICE = 'Nobody waits for an event: a durable handler runs at least once, and must bear to run twice'

/**
 * Reads the options.
 * @param handler the function, or the method of a controller
 * @param path their place, for error messages
 * @throws {OptionError} an option is invalid
 */
export function termsOf(
  kind: 'message' | 'event',
  handler: unknown,
  given: object,
  path = 'options'
): HandlerTerms {
  const { timeout, idempotent, streams: declared } = given as Readonly<Record<string, unknown>>
  if (timeout !== undefined && timeout !== false) milliseconds(1, `${path}.timeout`, timeout)
  if (idempotent !== undefined) mustBeBoolean(`${path}.idempotent`, idempotent)
  if (idempotent === true && kind === 'event') throw new OptionError(`${path}.idempotent`, TWICE)
  const streams = streamsOf(kind, handler, declared, `${path}.streams`)
  return {
    ...(typeof timeout === 'number' && { timeout }),
    ...(idempotent === true && { idempotent }),
    ...(streams && { streams })
  }
}

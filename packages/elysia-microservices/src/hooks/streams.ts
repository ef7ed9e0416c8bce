/** Whether the data and the answer of a handler are streams, as far as that is known before it runs. */
import { checkNames, mustBeBoolean, OptionError } from '@elysia-microservices/transport/kit'

/** The option `streams` of a handler. */
export interface Streams {
  /**
   * Whether callers send a stream as the data. Default: the schema of the data says it (`t.AsyncIterator`); without a
   * schema it is not known.
   */
  readonly data?: boolean | undefined
  /** Whether the answer is a stream. Default: `true` for a generator function, else it is not known. */
  readonly answer?: boolean | undefined
}

/** The known facts; a missing one is decided by the messages and results of the handler. */
export interface KnownStreams {
  readonly data?: boolean
  readonly answer?: boolean
}

const GENERATORS: ReadonlySet<string> = new Set([
  '[object AsyncGeneratorFunction]',
  '[object GeneratorFunction]'
])

/** Why the handler of an event has no option `streams`. */
const OF_REQUESTS = 'An event has no answer, and its data is one value'

/**
 * Reads the option `streams`.
 * @param path the place of the option, for error messages
 * @throws {OptionError} the option is invalid, or contradicts the handler
 */
export function streamsOf(
  kind: 'message' | 'event',
  handler: unknown,
  given: unknown,
  path: string
): KnownStreams | undefined {
  if (kind === 'event') {
    if (given === undefined) return undefined
    throw new OptionError(path, OF_REQUESTS)
  }
  const isGenerator = GENERATORS.has(Object.prototype.toString.call(handler))
  const { data, answer = isGenerator || undefined } = checked(given, path)
  if (isGenerator && answer === false)
    throw new OptionError(`${path}.answer`, `${path}.answer is false, but the handler is a generator`)
  if (data === undefined && answer === undefined) return undefined
  return { ...(data !== undefined && { data }), ...(answer !== undefined && { answer }) }
}

/**
 * Checks that the option agrees with the schema of the data.
 * @param bySchema whether the schema is for a stream; `undefined` without a schema
 * @throws {OptionError} it does not
 */
export function mustAgree(known: KnownStreams | undefined, bySchema: boolean | undefined): void {
  if (known?.data === undefined || bySchema === undefined || known.data === bySchema) return
  throw new OptionError(
    'options.streams.data',
    bySchema
      ? 'options.streams.data is false, but the schema of the data is for a stream: t.AsyncIterator(…)'
      : 'options.streams.data is true, but the schema of the data is for one value; t.AsyncIterator(…) is for a stream'
  )
}

/** Adds whether the schema of the data is for a stream. */
export function withSchema(
  known: KnownStreams | undefined,
  bySchema: boolean | undefined
): KnownStreams | undefined {
  return bySchema === undefined ? known : { data: bySchema, ...known }
}

function checked(given: unknown, path: string): Streams {
  if (given === undefined) return {}
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw OptionError.expected(path, 'an object such as { data: true, answer: true }', given)
  checkNames(path, given, ['data', 'answer'])
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) mustBeBoolean(`${path}.${name}`, value)
  return given
}

/**
 * An event as a row of the outbox. It is checked before the database sees it, because an error in the database
 * would end the caller's transaction.
 */
import type { MessageHeaders, Pattern } from '@elysia-microservices/transport'
import {
  isTooDeep,
  jsonCodec,
  OptionError,
  RESERVED_PREFIX,
  routeOf,
  withCurrentTrace
} from '@elysia-microservices/transport/kit'

/** An event's columns. */
export interface EventRow {
  readonly pattern: string
  readonly data: string | null
  readonly headers: string | null
}

/** Makes the row of an event. @throws {OptionError} a part of the event cannot be stored */
export function eventRow(pattern: Pattern, data: unknown, headers: MessageHeaders | undefined): EventRow {
  const route = routeOf(pattern)
  checkText('pattern', route)
  return { pattern: route, data: dataColumn(data), headers: headersColumn(headers) }
}

/** The data as JSON. @throws {OptionError} JSON cannot represent the data */
function dataColumn(data: unknown): string | null {
  if (data === undefined) return null
  if (isTooDeep(data)) throw new OptionError('data', 'data has more than 1000 levels of arrays and objects')
  return jsonCodec.encode(data)
}

function headersColumn(headers: MessageHeaders | undefined): string | null {
  if (headers === undefined) return headersText(withCurrentTrace(undefined))
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    throw OptionError.expected('options.headers', 'an object whose values are strings', headers)
  const entries = Object.entries(headers)
  let bytes = 0
  for (const [name, value] of entries) {
    const path = `options.headers[${JSON.stringify(name)}]`
    if (typeof value !== 'string') throw OptionError.expected(path, 'a string', value)
    if (CONTROL.test(name) || CONTROL.test(value))
      throw new OptionError(path, `${path} has a line break or another control character`)
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
    if (name.toLowerCase().startsWith(RESERVED_PREFIX))
      throw new OptionError(
        path,
        `${path} is a reserved name: ${RESERVED_PREFIX}* are this library's own headers`
      )
  }
  if (bytes > MOST_HEADERS)
    throw new OptionError(
      'options.headers',
      `options.headers have ${bytes} bytes, and may have ${MOST_HEADERS}: put large values into the data`
    )
  return headersText(withCurrentTrace(Object.fromEntries(entries)))
}

function headersText(headers: MessageHeaders = {}): string | null {
  return Object.keys(headers).length === 0 ? null : JSON.stringify(headers)
}

/** Largest size in bytes of the names and values of all headers: brokers accept less for headers than for data. */
const MOST_HEADERS = 32_768

/** Control characters, which no broker allows in headers. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

/** Largest size in bytes of a text in an index: PostgreSQL allows 2,700 bytes for an entry with two such texts. */
const LONGEST = 1_024

/** Checks a text. @throws {OptionError} PostgreSQL cannot store the text unchanged */
export function checkText(path: string, value: unknown): asserts value is string {
  if (typeof value !== 'string' || value === '' || Buffer.byteLength(value) > LONGEST)
    throw OptionError.expected(path, `a text of 1 to ${LONGEST} bytes`, value)
  // PostgreSQL refuses NUL. Half of a surrogate pair would be stored as another character, so two different keys
  // could become equal.
  if (value.includes('\0') || /\p{Surrogate}/u.test(value))
    throw new OptionError(
      path,
      `${path} has a character that PostgreSQL cannot store: NUL, or half of a surrogate pair`
    )
}

/** Checks an id or a key. @throws {OptionError} PostgreSQL cannot store the text, or no client can publish it */
export function checkName(path: string, value: unknown): asserts value is string {
  checkText(path, value)
  if (/\p{Cc}/u.test(value))
    throw new OptionError(path, `${path} has a line break or another control character`)
}

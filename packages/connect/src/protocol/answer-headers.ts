/** Headers and trailers that a handler has set beside its answer. */
import { OptionError } from '@elysia-microservices/transport/kit'
import type { HeaderList } from './connect-json.ts'

/** The header of a message that asks its handler for the headers of the answer. */
export const ASKS_FOR_HEADERS = 'elysia-answer-headers'

/** Headers and trailers of a handler. */
export interface AnswerHeaderLists {
  readonly headers: HeaderList
  readonly trailers: HeaderList
}

export const NO_HEADERS: AnswerHeaderLists = { headers: [], trailers: [] }

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const VALUE = /^[ -~]*$/
const BINARY = '-bin'
/** Headers that HTTP and the protocols need for themselves. */
const TAKEN =
  /^(?:connect-.*|grpc-.*|trailer-.*|accept-encoding|connection|content-(?:encoding|length|type)|date|host|keep-alive|trailer|transfer-encoding|upgrade)$/

/**
 * Reads what `takeSet` of a message returns: JSON of `headers` and `trailers`, with bytes in Base64.
 * @throws {OptionError} a name or a value cannot be a header of HTTP
 */
export function answerHeaders(json: string): AnswerHeaderLists {
  const { headers = {}, trailers = {} } = JSON.parse(json) as Record<string, Readonly<Record<string, string>>>
  return { headers: listOf('set.headers', headers), trailers: listOf('set.trailers', trailers) }
}

function listOf(path: string, given: Readonly<Record<string, string>>): HeaderList {
  return Object.entries(given).map(([name, value]) => {
    const where = `${path}[${JSON.stringify(name)}]`
    const lower = name.toLowerCase()
    if (!NAME.test(name)) throw new OptionError(where, `${where} is no name of an HTTP header`)
    if (TAKEN.test(lower))
      throw new OptionError(where, `${where} cannot be set, because HTTP, Connect or gRPC-Web needs it`)
    if (!VALUE.test(value))
      throw new OptionError(
        where,
        `${where} must be printable ASCII, as HTTP demands; send other texts as bytes under a name that ends in '-bin'`
      )
    return [lower, lower.endsWith(BINARY) ? value.replace(/=+$/, '') : value] as const
  })
}

/** Headers and trailers that a handler has set beside its answer. */
import { type HeaderList, headerList } from './metadata.ts'

/** Headers and trailers of a handler. */
export interface AnswerHeaderLists {
  readonly headers: HeaderList
  readonly trailers: HeaderList
}

export const NO_HEADERS: AnswerHeaderLists = { headers: [], trailers: [] }

/**
 * Reads what `takeSet` of a message returns: JSON of `headers` and `trailers`, with bytes in base64.
 * @throws {OptionError} a name or a value cannot be a header of HTTP
 */
export function answerHeaders(json: string): AnswerHeaderLists {
  const { headers = {}, trailers = {} } = JSON.parse(json) as Record<string, Readonly<Record<string, string>>>
  return {
    headers: headerList('set.headers', headers),
    trailers: headerList('set.trailers', trailers)
  }
}

/**
 * Headers beside an answer. On every wire they are the same JSON, `{"headers":{…},"trailers":{…}}`, with bytes in Base64.
 * A service sends them only to callers who ask for them.
 */
import { OptionError, ProtocolError } from './errors/index.ts'
import { ENDS_BINARY, headerText, RESERVED_PREFIX, refuseReserved } from './headers.ts'

/** Headers that came beside an answer: texts, and bytes under names that end in `-bin`, several as a list. */
export interface AnswerHeaders {
  readonly [name: `${string}-bin`]: Uint8Array | readonly Uint8Array[]
  readonly [name: string]: string | Uint8Array | readonly Uint8Array[]
}

/** Headers of an answer that a handler sets: texts, and bytes or a list of them under names that end in `-bin`. */
export interface SettableHeaders {
  [name: `${string}-bin`]: Uint8Array | readonly Uint8Array[]
  [name: string]: string | Uint8Array | readonly Uint8Array[]
}

/** The header of a call that asks for the headers of its answer. */
export const ASKS_FOR_HEADERS = `${RESERVED_PREFIX}answer-headers`

/** Headers that have come beside an answer or its end. */
export interface ReceivedHeaders {
  readonly headers?: AnswerHeaders | undefined
  readonly trailers?: AnswerHeaders | undefined
}

/** One of the two places for headers. */
interface Place {
  readonly path: string
  readonly values: SettableHeaders
  isSent: boolean
  /** Advice for a handler that sets a header too late. */
  readonly advice: string
}

/** The headers of one answer, as its handler sets them. */
export interface AnswerSet {
  /** Sent with the first value of the answer, or with its error. Setting one later throws an `OptionError`. */
  readonly headers: SettableHeaders
  /** Sent with the end of the answer, or with its error. */
  readonly trailers: SettableHeaders
}

/** An `AnswerSet` that is sent. */
export class SentSet implements AnswerSet {
  readonly headers: SettableHeaders
  readonly trailers: SettableHeaders
  readonly #first: Place
  readonly #last: Place

  /** @param hasBegun the first value of the answer has been sent */
  constructor(hasBegun: boolean) {
    this.#first = placeOf(
      'set.headers',
      hasBegun,
      'the first value of the answer has been sent: use set.trailers'
    )
    this.#last = placeOf('set.trailers', false, 'the answer has ended')
    this.headers = settable(this.#first)
    this.trailers = settable(this.#last)
    // Otherwise `set.headers = {…}` would go nowhere.
    Object.freeze(this)
  }

  /**
   * Takes what is to be sent beside the next value or the end, as JSON; `undefined`: nothing.
   * @param isLast the answer ends with it
   */
  take(isLast: boolean): string | undefined {
    const headers = taken(this.#first)
    const trailers = isLast ? taken(this.#last) : undefined
    return headers === undefined && trailers === undefined ? undefined : JSON.stringify({ headers, trailers })
  }
}

function placeOf(path: string, isSent: boolean, advice: string): Place {
  return { path, values: Object.create(null) as SettableHeaders, isSent, advice }
}

/** Headers that are checked when they are set, where the mistake is. */
function settable(place: Place): SettableHeaders {
  return new Proxy(place.values, {
    set(values, name, value: unknown) {
      const path = `${place.path}[${JSON.stringify(String(name))}]`
      if (place.isSent) throw new OptionError(path, `${path} cannot be set any more: ${place.advice}`)
      const text = String(name)
      refuseReserved(text, path)
      const isBinary = text.endsWith(ENDS_BINARY)
      if (typeof value === 'string' ? isBinary : headerText(text, value) === undefined)
        throw OptionError.expected(
          path,
          isBinary
            ? "bytes or a list of them, because its name ends in '-bin'"
            : "a text; bytes have a name that ends in '-bin'",
          value
        )
      return Reflect.set(values, name, value)
    }
  })
}

function taken(place: Place): Readonly<Record<string, string>> | undefined {
  if (place.isSent) return undefined
  place.isSent = true
  const entries = Object.entries(place.values)
  if (entries.length === 0) return undefined
  return Object.fromEntries(
    // They were checked when they were set.
    entries.map(([name, value]) => [name, headerText(name, value) as string])
  )
}

/**
 * Reads the JSON of headers. Short, because pages load it.
 * @throws {ProtocolError} it is malformed
 */
export function readAnswerHeaders(json: string): ReceivedHeaders {
  try {
    const read: unknown = JSON.parse(json, (name, value: unknown) => {
      // Values that are no texts are left out.
      if (typeof value !== 'string') return typeof value === 'object' ? value : undefined
      const all = name.endsWith(ENDS_BINARY)
        ? value.split(',').map((one) => Uint8Array.from(atob(one), (character) => character.charCodeAt(0)))
        : [value]
      return all[1] ? all : all[0]
    })
    return Object(read) as object
  } catch (cause) {
    throw new ProtocolError('Malformed headers of an answer', cause)
  }
}

/** The first characters of words that have headers in front of them. No JSON begins with them. */
const FRONT = '+h'

/** Puts headers in front of the words to which they belong: `+h<length> <JSON><words>`. */
export function inFront(json: string, words: string): string {
  return `${FRONT}${json.length} ${json}${words}`
}

/** Headers in front of words, as JSON; empty, which is no JSON, if they have no length. */
export interface Front {
  readonly json: string
  readonly words: string
}

/** Reads headers in front of words; `undefined`: there are none. */
export function readFront(text: string): Front | undefined {
  if (!text.startsWith(FRONT)) return undefined
  const [mark = '', length] = /^\+h(\d+) /.exec(text) ?? []
  const end = mark.length + Number(length)
  return { json: text.slice(mark.length, end), words: text.slice(end) }
}

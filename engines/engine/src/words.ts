/**
 * The words that our clients and services exchange in addition to Nest's packets, described in docs/protocol.md
 * ("Engines"). Our callers are recognised by their reply address. A call that lasts has a control address at the
 * service, which the service sends as the reply address of its messages. Clients and services that use Nest ignore
 * both.
 */
import {
  ConnectionError,
  checkDepth,
  jsonCodec,
  ProtocolError,
  text as utf8
} from '@elysia-microservices/transport/kit'
import type { Words } from './carrier.ts'
import { isSecret, SECRET_LENGTH } from './secret.ts'

/**
 * The version of these words: the first character of a reply token. A caller with another version is served like a
 * caller that uses Nest.
 */
export const VERSION = '1'

/** The kind of a call, as the reply address of its caller names it. */
export type CallerKind = 'request' | 'stream' | 'event'

/** Content of the last segment of our reply addresses. */
export interface ReplyToken {
  readonly kind: CallerKind
  /** Milliseconds for which the caller waits; `undefined` if the caller does not tell. */
  readonly timeout: number | undefined
  /** Values that may be sent before the caller grants more. */
  readonly demand: number
  /** Bytes of a stream that may be sent before the reader has taken them. */
  readonly window: number
  /** Milliseconds for which the caller takes values of a stream. Missing: the caller does not tell. */
  readonly lifetime?: number
}

/** Most bytes of a stream that may be sent before its reader has taken them. */
export const STREAM_WINDOW = 1024 * 1024
/**
 * Most bytes of all streams of one caller: engines close a connection for which they buffer too much (32 to 64 MiB).
 */
export const ALL_WINDOWS = 16 * STREAM_WINDOW
/** Least window of a stream in bytes, however many streams there are. */
export const LEAST_WINDOW = 16 * 1024
/** The largest message between our clients and services, in bytes. */
export const MAX_MESSAGE = 32 * 1024 * 1024
/** The longest reply address, in characters, to which a service sends an answer. */
export const MAX_REPLY = 512

const LETTERS: Readonly<Record<CallerKind, string>> = { request: 'r', stream: 's', event: 'e' }

/** Makes the last segment of a reply address: `1r17-<secret>-`, `1s18-<secret>-5000-256-1048576`, with a lifetime `…-60000`. */
export function replyToken(
  kind: CallerKind,
  call: number,
  secret: string,
  timeout: number | undefined,
  demand = 1,
  window = STREAM_WINDOW,
  lifetime?: number
): string {
  const head = replyHead(kind, call, secret) + (timeout === undefined ? '' : Math.ceil(timeout))
  if (kind !== 'stream') return head
  return `${head}-${demand}-${window}${lifetime === undefined ? '' : `-${lifetime}`}`
}

/** Makes the part of a reply token that names the call: `1r17-<secret>-`. */
export function replyHead(kind: CallerKind, call: number, secret: string): string {
  return `${VERSION}${LETTERS[kind]}${call}-${secret}-`
}

const DASH = 45
const VERSION_CODE = VERSION.charCodeAt(0)
const REQUEST = LETTERS.request.charCodeAt(0)
const STREAM = LETTERS.stream.charCodeAt(0)
const EVENT = LETTERS.event.charCodeAt(0)
const PLAIN_REQUEST: ReplyToken = { kind: 'request', timeout: undefined, demand: 1, window: STREAM_WINDOW }

/** Reads a reply address; `undefined` if it is not one of ours, or of another version. */
export function readReply(reply: string): ReplyToken | undefined {
  const start = reply.lastIndexOf('.') + 1
  if (reply.charCodeAt(start) !== VERSION_CODE) return undefined
  const letter = reply.charCodeAt(start + 1)
  if (letter !== REQUEST && letter !== STREAM && letter !== EVENT) return undefined
  const first = reply.indexOf('-', start + 2)
  const second = first + 1 + SECRET_LENGTH
  if (first === -1 || numberIn(reply, start + 2, first) === -1) return undefined
  if (!isSecret(reply, first + 1) || reply.charCodeAt(second) !== DASH) return undefined
  const { length } = reply
  if (letter === REQUEST && second + 1 === length) return PLAIN_REQUEST
  const third = letter === STREAM ? reply.indexOf('-', second + 1) : length
  const timeout = third === second + 1 ? undefined : numberIn(reply, second + 1, third)
  if (timeout === -1 || timeout === 0) return undefined
  if (letter !== STREAM)
    return { kind: letter === EVENT ? 'event' : 'request', timeout, demand: 1, window: STREAM_WINDOW }
  const fourth = reply.indexOf('-', third + 1)
  const demand = numberIn(reply, third + 1, fourth)
  const fifth = reply.indexOf('-', fourth + 1)
  const window = numberIn(reply, fourth + 1, fifth === -1 ? length : fifth)
  if (demand < 1 || window < 1) return undefined
  const stream = { kind: 'stream', timeout, demand, window: Math.min(window, STREAM_WINDOW) } as const
  if (fifth === -1) return stream
  const lifetime = numberIn(reply, fifth + 1, length)
  return lifetime < 1 ? undefined : { ...stream, lifetime }
}

/** The whole number between two positions of a text, in decimal digits only; -1 if there are other characters. */
export function numberIn(text: string, start: number, end = text.length): number {
  // Longer numbers may not be exact: 2 ** 53 has 16 digits.
  if (end <= start || end - start > 15) return -1
  let number = 0
  for (let at = start; at < end; at++) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return -1
    number = number * 10 + digit
  }
  return number
}

/** The first character of the request of a channel, which only our services understand: no JSON begins with it. */
export const CHANNEL = '^'
/** The first character of each message of a service that is not a packet of Nest. */
export const SAID = '+'

/** The letter that follows `+` in a message of a service. */
export const Said = {
  /** The request is accepted or still runs; the reply address is its control address. */
  accepted: 'a',
  /** `last`: the only or last value, as JSON. `end`: the end without a value. */
  last: 'd',
  end: 'e',
  /** Several values of a stream, as a JSON array. */
  values: 'v',
  /**
   * `inputGranted`: the total number of values that the channel may send. `inputStopped`: the channel may send no more.
   */
  inputGranted: 'i',
  inputStopped: 's',
  /** The handler is busy, and has not started. */
  rejected: 'r',
  /** This process does not have the call, or does not handle its pattern. */
  absent: 'n',
  /** The engine has lost a value, or the end, of the channel, so the service has given the call up. */
  inputLost: 'l',
  /** The service does not know the request, or not any more, because it has stopped. */
  gone: 'x',
  /** Headers of the answer, in front of the words that have its first value or its end: `+h13 {"headers":{…}}+d5`. */
  headers: 'h'
} as const

/** The first letter of a message of a caller to a control address. */
export const Told = {
  /**
   * Values granted and characters taken, in total: `g512,20480`; of a channel also the number of its values sent so far,
   * its end included: `g512,20480,3`.
   */
  granted: 'g',
  canceled: 'x',
  /** All messages that were sent to this caller have arrived. */
  heard: 'p',
  /** A value of the channel, with its number: `v3 {"a":1}`. */
  input: 'v',
  /** The channel has ended; the number of its values follows: `e3`. */
  inputEnded: 'e',
  inputFailed: 'f'
} as const

/** Milliseconds between signs of life of a call that lasts, and the silence after which the call counts as lost. */
export const HEARTBEAT = 5_000
export const LOST_AFTER = 4 * HEARTBEAT

/** The totals that a caller tells about a call that lasts. */
export interface Grant {
  /** The values that the service may send. */
  readonly values: number
  /** The characters of values that the caller has taken. */
  readonly size: number
  /** The values of the channel that the caller has sent, its end included; 0: there is no channel. */
  readonly inputs: number
}

/** Reads a grant; `undefined` if it is malformed. */
export function readGrant(words: string): Grant | undefined {
  const comma = words.indexOf(',')
  const second = words.indexOf(',', comma + 1)
  const values = numberIn(words, 1, comma)
  const size = numberIn(words, comma + 1, second === -1 ? words.length : second)
  const inputs = second === -1 ? 0 : numberIn(words, second + 1)
  return values === -1 || size === -1 || inputs === -1 ? undefined : { values, size, inputs }
}

/** Makes the error of a call of which the engine has lost a value of the channel. */
export function inputLost(): ConnectionError {
  return new ConnectionError('A value of the channel was lost, because the engine lost a server', true)
}

/** The text of words. */
export function textOf(words: Words, start = 0): string {
  if (typeof words !== 'string') return utf8.read(words, start, words.length)
  return start === 0 ? words : words.slice(start)
}

/** The character of words at a position, by default the first; `''` if the words are shorter. Only for ASCII. */
export function letterAt(words: Words, at = 0): string {
  if (typeof words === 'string') return words.charAt(at)
  const code = words[at]
  return code === undefined ? '' : String.fromCharCode(code)
}

/** The bytes of a text. */
export function bytesOf(text: string): Uint8Array {
  const buffer = utf8.allocate(text.length * 3)
  return buffer.subarray(0, utf8.write(buffer, text, 0))
}

/** The JSON of a value; `undefined` for `undefined`, which words leave out. @throws {OptionError} JSON cannot carry it */
export function valueToJson(value: unknown): string | undefined {
  return value === undefined ? undefined : jsonCodec.encode(value)
}

/**
 * Parses JSON.
 * @throws {SyntaxError} the text is not JSON
 * @throws {ProtocolError} the value is nested too deeply
 */
export function jsonOf(text: string): unknown {
  const value: unknown = JSON.parse(text)
  // Each level has an opening and a closing bracket.
  checkDepth(value, text.length / 2)
  return value
}

/**
 * Parses the body of an answer.
 * @throws {ProtocolError} the body is not JSON, or nested too deeply
 */
export function bodyOf(text: string): unknown {
  try {
    return jsonOf(text)
  } catch (cause) {
    throw cause instanceof ProtocolError
      ? cause
      : new ProtocolError('The body of an answer is not JSON', cause)
  }
}

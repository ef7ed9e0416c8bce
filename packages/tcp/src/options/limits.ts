/**
 * The limits of client and server, each with one table of defaults. A test compares docs/limits.md with these tables.
 */

import {
  ADAPTIVE_DEFAULTS,
  type AdaptiveConcurrencyOptions,
  type ConcurrencyBounds
} from '@elysia-microservices/rsocket'
import { atLeast, LONGEST_TIME, OptionError, withDefaults } from '@elysia-microservices/transport/kit'

/** Limits of one connection, on either end. `false` means no limit. */
export interface ConnectionLimits {
  /**
   * Most data that may be received and wait to be handled: UTF-16 code units on Nest's wire, bytes on RSocket. It also
   * limits the length of an RSocket frame. Default: 134,217,728, as in Nest.
   */
  readonly receiveBuffer?: number | false | undefined
  /**
   * Most bytes that may be written and wait to be sent. A server cuts a connection whose peer leaves more bytes unread;
   * a client refuses further calls. Default: 134,217,728, as in Nest.
   */
  readonly sendBuffer?: number | false | undefined
  /** RSocket: most bytes of all incomplete fragmented messages of a connection. Default: 67,108,864. */
  readonly messageSize?: number | false | undefined
  /**
   * Milliseconds without progress of an incomplete message after which the connection is ended. Less than 1 KB does not
   * count as progress (in Nest every byte counts). Default: 30,000, as in Nest.
   */
  readonly incompleteMessage?: number | false | undefined
}

/** Limits of a client. `false` means no limit. */
export interface ClientLimits extends ConnectionLimits {
  /**
   * RSocket: most bytes of one stream that a server of this library sends before the reader has taken them. The
   * reader's own queue holds up to 256 KiB more. At least one value is always sent. Default: 1,048,576.
   */
  readonly streamBuffer?: number | false | undefined
}

/** Limits of a server. `false` means no limit. */
export interface ServerLimitOptions extends ConnectionLimits {
  /** Most open connections. Further connections are closed, those of RSocket with `REJECTED_SETUP`. Default: 65,536. */
  readonly connections?: number | false | undefined
  /**
   * Most requests, events and streams in flight on all connections together. Further RSocket requests are answered with
   * `REJECTED` (clients that honour leases do not send them). Further requests on Nest's wire wait in the
   * `receiveBuffer` of their connection. A handler that answers in the turn in which its message arrives is never in
   * flight. With `'adaptive'`, or bounds, the server finds the limit from the latency of its handlers; then streams are
   * not counted. Default: `false`.
   */
  readonly inFlight?: number | false | 'adaptive' | AdaptiveConcurrencyOptions | undefined
  /**
   * RSocket: most requests of one connection in flight. Clients that honour leases are granted this number;
   * further requests are answered with `REJECTED`. Default: `false`.
   */
  readonly inFlightPerConnection?: number | false | undefined
  /** Most open streams of one connection. Further streams are answered with `REJECTED`. Default: 65,536. */
  readonly streams?: number | false | undefined
  /**
   * RSocket: most bytes of metadata (route, headers, credentials) in a request, SETUP or METADATA_PUSH. With more
   * bytes, a request is answered with `INVALID`, SETUP with `INVALID_SETUP`, and METADATA_PUSH is logged. Default:
   * 65,536.
   */
  readonly headerSize?: number | false | undefined
  /**
   * Milliseconds without traffic after which a connection is closed (up to a quarter later). A connection with requests
   * in flight is closed only if its peer does not read. Keepalive counts as traffic. Default: `false`, as in Nest.
   */
  readonly idle?: number | false | undefined
  /**
   * Milliseconds until the first byte of a connection must arrive (up to a quarter later). Default: 300,000. A client
   * on Nest's wire may have nothing to send for longer; it connects again at its next call.
   */
  readonly silence?: number | false | undefined
  /**
   * Milliseconds after which an RSocket client of this library is told to connect again, plus or minus a tenth. So
   * clients find new servers, and workers that were restarted. Open requests and streams end on the old connection.
   * Default: `false`.
   */
  readonly age?: number | false | undefined
  /**
   * RSocket: milliseconds from the first byte of a connection until it must be set up and authenticated. TLS:
   * milliseconds until the handshake must begin, and the same time again until it must end. Default: 10,000.
   */
  readonly handshake?: number | false | undefined
}

const MEBIBYTE = 1024 * 1024

/** The default limits of a connection, the same for client and server. */
export const CONNECTION_LIMITS = {
  receiveBuffer: 128 * MEBIBYTE,
  sendBuffer: 128 * MEBIBYTE,
  messageSize: 64 * MEBIBYTE,
  incompleteMessage: 30_000
}

/** The default limits of a client. */
export const CLIENT_LIMITS = { ...CONNECTION_LIMITS, streamBuffer: MEBIBYTE }

/** The default limits of a server. */
export const SERVER_LIMITS = {
  ...CONNECTION_LIMITS,
  connections: 65_536,
  inFlight: false as NonNullable<ServerLimitOptions['inFlight']>,
  inFlightPerConnection: false as number | false,
  streams: 65_536,
  headerSize: 65_536,
  idle: false as number | false,
  silence: 300_000,
  age: false as number | false,
  handshake: 10_000
}

/** Checked limits. `Infinity` means no limit; for a time, 0 means no limit. */
export interface CheckedConnectionLimits {
  readonly receiveBuffer: number
  readonly sendBuffer: number
  readonly messageSize: number
  readonly incompleteMessage: number
}

/** Checked limits of a client. */
export interface CheckedClientLimits extends CheckedConnectionLimits {
  readonly streamBuffer: number
}

/** Checked limits of a server. */
export interface CheckedServerLimits extends CheckedConnectionLimits {
  readonly connections: number
  readonly inFlight: number | ConcurrencyBounds
  readonly inFlightPerConnection: number
  readonly streams: number
  readonly headerSize: number
  readonly idle: number
  readonly silence: number
  readonly age: number
  readonly handshake: number
}

/** @throws {OptionError} a limit has a wrong value or an unknown name */
export function clientLimits(given: ClientLimits | undefined): CheckedClientLimits {
  const all = withDefaults('options.limits', given, CLIENT_LIMITS)
  return { ...checkedConnection(all), streamBuffer: count('streamBuffer', all.streamBuffer) }
}

/** @throws {OptionError} a limit has a wrong value or an unknown name */
export function serverLimits(given: ServerLimitOptions | undefined): CheckedServerLimits {
  const all = withDefaults('options.limits', given, SERVER_LIMITS)
  return {
    ...checkedConnection(all),
    connections: count('connections', all.connections),
    inFlight: checkedInFlight(all.inFlight),
    inFlightPerConnection: count('inFlightPerConnection', all.inFlightPerConnection),
    streams: count('streams', all.streams),
    headerSize: count('headerSize', all.headerSize),
    idle: time('idle', all.idle),
    silence: time('silence', all.silence),
    age: time('age', all.age),
    handshake: time('handshake', all.handshake)
  }
}

type Given = { readonly [Name in keyof CheckedConnectionLimits]: number | false }

function checkedConnection(all: Given): CheckedConnectionLimits {
  return {
    receiveBuffer: count('receiveBuffer', all.receiveBuffer),
    sendBuffer: count('sendBuffer', all.sendBuffer),
    messageSize: count('messageSize', all.messageSize),
    incompleteMessage: time('incompleteMessage', all.incompleteMessage)
  }
}

/** @returns `Infinity` for no limit */
function count(name: string, limit: number | false): number {
  if (limit === false) return Number.POSITIVE_INFINITY
  if (!(typeof limit === 'number' && limit >= 1))
    throw OptionError.expected(`options.limits.${name}`, 'a number, 1 or more, or false for no limit', limit)
  return limit
}

/** @returns 0 for no limit */
function time(name: string, limit: number | false): number {
  if (limit === false) return 0
  if (!(typeof limit === 'number' && limit >= 1 && limit <= LONGEST_TIME))
    throw OptionError.expected(
      `options.limits.${name}`,
      `milliseconds, from 1 to ${LONGEST_TIME} (24.8 days), or false for no limit`,
      limit
    )
  return limit
}

function checkedInFlight(inFlight: NonNullable<ServerLimitOptions['inFlight']>): number | ConcurrencyBounds {
  if (typeof inFlight === 'number' || inFlight === false) return count('inFlight', inFlight)
  const path = 'options.limits.inFlight'
  if (inFlight !== 'adaptive' && (typeof inFlight !== 'object' || inFlight === null))
    throw OptionError.expected(path, "a number, false, 'adaptive' or { initial, min, max }", inFlight)
  const given = inFlight === 'adaptive' ? {} : inFlight
  const { min, max, initial } = withDefaults(path, given, ADAPTIVE_DEFAULTS)
  atLeast(1, `${path}.min`, min)
  const largest = given.max ?? Math.max(min, max)
  atLeast(min, `${path}.max`, largest)
  const first = given.initial ?? Math.min(largest, Math.max(min, initial))
  atLeast(min, `${path}.initial`, first)
  if (first > largest) throw OptionError.expected(`${path}.initial`, `${largest} (max) or less`, first)
  return { initial: first, min, max: largest }
}

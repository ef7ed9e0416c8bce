/**
 * The limits of client and server, each with one table of defaults. A test compares docs/limits.md with these tables.
 */

import {
  ADAPTIVE_DEFAULTS,
  type AdaptiveConcurrencyOptions,
  type ConcurrencyBounds
} from '@elysia-microservices/rsocket'
import { atLeast, milliseconds, OptionError, withDefaults } from '@elysia-microservices/transport/kit'

/** Limits of one connection, on either end. 0 means no limit. */
export interface ConnectionLimits {
  /**
   * Most data that may be received and wait to be handled: UTF-16 code units on Nest's wire, bytes on RSocket. It also
   * limits the length of an RSocket frame. Default: 134,217,728, as in Nest.
   */
  readonly receiveBuffer?: number | undefined
  /**
   * Most bytes that may be written and wait to be sent. A server cuts a connection whose peer leaves more bytes unread;
   * a client refuses further calls. Default: 134,217,728, as in Nest.
   */
  readonly sendBuffer?: number | undefined
  /** RSocket: most bytes of all incomplete fragmented messages of a connection. Default: 67,108,864. */
  readonly messageSize?: number | undefined
  /**
   * Milliseconds without progress of an incomplete message after which the connection is ended. Less than 1 KB does not
   * count as progress (in Nest every byte counts). Default: 30,000, as in Nest.
   */
  readonly incompleteMessage?: number | undefined
}

/** Limits of a client. 0 means no limit. */
export interface ClientLimits extends ConnectionLimits {
  /**
   * RSocket: most bytes of one stream that a server of this library sends before the reader has taken them. The
   * reader's own queue holds up to 256 KiB more. At least one value is always sent. Default: 1,048,576.
   */
  readonly streamBuffer?: number | undefined
}

/** Limits of a server. 0 means no limit. */
export interface ServerLimitOptions extends ConnectionLimits {
  /** Most open connections. Further connections are closed, those of RSocket with `REJECTED_SETUP`. Default: 65,536. */
  readonly connections?: number | undefined
  /**
   * Most requests, events and streams in flight on all connections together. Further RSocket requests are answered with
   * `REJECTED` (clients that honour leases do not send them). Further requests on Nest's wire wait in the
   * `receiveBuffer` of their connection. A handler that answers in the turn in which its message arrives is never in
   * flight. With `'adaptive'`, or bounds, the server finds the limit from the latency of its handlers; then streams are
   * not counted. Default: 0.
   */
  readonly inFlight?: number | 'adaptive' | AdaptiveConcurrencyOptions | undefined
  /**
   * RSocket: most requests of one connection in flight. Clients that honour leases are granted this number;
   * further requests are answered with `REJECTED`. Default: 0.
   */
  readonly inFlightPerConnection?: number | undefined
  /** Most open streams of one connection. Further streams are answered with `REJECTED`. Default: 65,536. */
  readonly streams?: number | undefined
  /**
   * RSocket: most bytes of metadata (route, headers, credentials) in a request, SETUP or METADATA_PUSH. With more
   * bytes, a request is answered with `INVALID`, SETUP with `INVALID_SETUP`, and METADATA_PUSH is logged. Default:
   * 65,536.
   */
  readonly headerSize?: number | undefined
  /**
   * Milliseconds without traffic after which a connection is closed (up to a quarter later). A connection with requests
   * in flight is closed only if its peer does not read. Keepalive counts as traffic. Default: 0, as in Nest.
   */
  readonly idle?: number | undefined
  /**
   * Milliseconds until the first byte of a connection must arrive (up to a quarter later). Default: 300,000. A client
   * on Nest's wire may have nothing to send for longer; it connects again at its next call.
   */
  readonly silence?: number | undefined
  /**
   * Milliseconds after which an RSocket client of this library is told to connect again, plus or minus a tenth. So
   * clients find new servers, and workers that were restarted. Open requests and streams end on the old connection.
   * Default: 0.
   */
  readonly age?: number | undefined
  /**
   * RSocket: milliseconds from the first byte of a connection until it must be set up and authenticated. TLS:
   * milliseconds until the handshake must begin, and the same time again until it must end. Default: 10,000.
   */
  readonly handshake?: number | undefined
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
  inFlight: 0 as NonNullable<ServerLimitOptions['inFlight']>,
  inFlightPerConnection: 0,
  streams: 65_536,
  headerSize: 65_536,
  idle: 0,
  silence: 300_000,
  age: 0,
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
  return { ...checkedConnection(all), streamBuffer: orNone('streamBuffer', all.streamBuffer) }
}

/** @throws {OptionError} a limit has a wrong value or an unknown name */
export function serverLimits(given: ServerLimitOptions | undefined): CheckedServerLimits {
  const all = withDefaults('options.limits', given, SERVER_LIMITS)
  for (const name of ['idle', 'silence', 'age', 'handshake'] as const)
    milliseconds(0, `options.limits.${name}`, all[name])
  return {
    ...checkedConnection(all),
    connections: orNone('connections', all.connections),
    inFlight: checkedInFlight(all.inFlight),
    inFlightPerConnection: orNone('inFlightPerConnection', all.inFlightPerConnection),
    streams: orNone('streams', all.streams),
    headerSize: orNone('headerSize', all.headerSize),
    idle: all.idle,
    silence: all.silence,
    age: all.age,
    handshake: all.handshake
  }
}

function checkedConnection(all: Required<CheckedConnectionLimits>): CheckedConnectionLimits {
  milliseconds(0, 'options.limits.incompleteMessage', all.incompleteMessage)
  return {
    receiveBuffer: orNone('receiveBuffer', all.receiveBuffer),
    sendBuffer: orNone('sendBuffer', all.sendBuffer),
    messageSize: orNone('messageSize', all.messageSize),
    incompleteMessage: all.incompleteMessage
  }
}

function orNone(name: string, limit: number): number {
  atLeast(0, `options.limits.${name}`, limit)
  return limit === 0 ? Number.POSITIVE_INFINITY : limit
}

function checkedInFlight(inFlight: NonNullable<ServerLimitOptions['inFlight']>): number | ConcurrencyBounds {
  if (typeof inFlight === 'number') return orNone('inFlight', inFlight)
  const path = 'options.limits.inFlight'
  if (inFlight !== 'adaptive' && (typeof inFlight !== 'object' || inFlight === null))
    throw OptionError.expected(path, "a number, 'adaptive' or { initial, min, max }", inFlight)
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

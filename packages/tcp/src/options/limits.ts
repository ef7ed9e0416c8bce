/** The limits of both ends, with their defaults in one table each. docs/operations.md is checked against it. */
import { atLeast, OptionError, withDefaults } from '@elysia-microservices/transport/kit'
import {
  ADAPTIVE_DEFAULTS,
  type AdaptiveConcurrencyOptions,
  type ConcurrencyBounds
} from '../limits/adaptive-concurrency.ts'

/** Limits of one connection, on either end. 0 stands for no limit. */
export interface ConnectionLimits {
  /**
   * What may be received and wait to be handled: UTF-16 code units on Nest's wire, bytes on RSocket's. No frame
   * of RSocket may be longer. Default: 134,217,728, as in Nest.
   */
  readonly receiveBuffer?: number | undefined
  /**
   * Bytes that may be written and wait to be sent. A server cuts a peer off that leaves more unread; a client refuses
   * calls beyond it. Default: 134,217,728, as in Nest.
   */
  readonly sendBuffer?: number | undefined
  /** RSocket: bytes of messages that come in fragments. Default: 67,108,864. */
  readonly messageSize?: number | undefined
  /**
   * Milliseconds after which a message that has begun to arrive and makes no progress ends the connection. Less than
   * 1 KB is no progress: in Nest each byte is. Default: 30,000, as in Nest.
   */
  readonly incompleteMessage?: number | undefined
}

/** Limits of a server. 0 stands for no limit. */
export interface ServerLimitOptions extends ConnectionLimits {
  /**
   * Connections that may be open at the same time. More are closed, those of RSocket with `REJECTED_SETUP`.
   * Default: 65,536.
   */
  readonly connections?: number | undefined
  /**
   * Requests, events and streams of all connections that may be in flight at the same time. Beyond, RSocket requests
   * are answered with `REJECTED` (clients that honour leases are told before), and Nest's wait in their connection's
   * buffer, whose bound is `receiveBuffer`. Handlers that answer in the turn a message comes are never in flight.
   * `'adaptive'`, or bounds: the limit finds itself by how long handlers take; streams are not counted then.
   * Default: 0.
   */
  readonly inFlight?: number | 'adaptive' | AdaptiveConcurrencyOptions | undefined
  /**
   * RSocket: requests of one connection that may be in flight at the same time. Clients that honour leases are
   * granted them; requests beyond are answered with `REJECTED`. Default: 0.
   */
  readonly inFlightPerConnection?: number | undefined
  /** Streams one connection may have open. More are answered with `REJECTED`. Default: 65,536. */
  readonly streams?: number | undefined
  /**
   * RSocket: bytes the metadata (route, headers, credentials) of a request, of SETUP or of METADATA_PUSH may have.
   * Larger ones are answered with `INVALID` or `INVALID_SETUP`; METADATA_PUSH, which has no answer, is dropped.
   * Default: 65,536.
   */
  readonly headerSize?: number | undefined
  /**
   * Milliseconds after which a connection without any traffic is closed, up to a quarter later. One with something in
   * flight is closed only if its peer takes nothing of what is there to be read. Keepalive counts as traffic.
   * Default: 0, as in Nest.
   */
  readonly idle?: number | undefined
  /**
   * RSocket: milliseconds from the first byte of a connection until it must be set up and authenticated. TLS:
   * milliseconds until its handshake must have begun, and then until it must be over. Default: 10,000.
   */
  readonly handshake?: number | undefined
}

const MEBIBYTE = 1024 * 1024

/** What a client allows where its options are silent. */
export const CONNECTION_LIMITS = {
  receiveBuffer: 128 * MEBIBYTE,
  sendBuffer: 128 * MEBIBYTE,
  messageSize: 64 * MEBIBYTE,
  incompleteMessage: 30_000
}

/** What a server allows where its options are silent. */
export const SERVER_LIMITS = {
  ...CONNECTION_LIMITS,
  connections: 65_536,
  inFlight: 0 as NonNullable<ServerLimitOptions['inFlight']>,
  inFlightPerConnection: 0,
  streams: 65_536,
  headerSize: 65_536,
  idle: 0,
  handshake: 10_000
}

/** Limits as they are used: `Infinity` where there is none, but 0 where it is the time of a timer. */
export interface CheckedConnectionLimits {
  readonly receiveBuffer: number
  readonly sendBuffer: number
  readonly messageSize: number
  readonly incompleteMessage: number
}

/** The same of a server. */
export interface CheckedServerLimits extends CheckedConnectionLimits {
  readonly connections: number
  readonly inFlight: number | ConcurrencyBounds
  readonly inFlightPerConnection: number
  readonly streams: number
  readonly headerSize: number
  readonly idle: number
  readonly handshake: number
}

/** @throws {OptionError} a limit is not what it must be */
export function connectionLimits(given: ConnectionLimits | undefined): CheckedConnectionLimits {
  const all = withDefaults('options.limits', given, CONNECTION_LIMITS)
  return checkedConnection(all)
}

/** @throws {OptionError} a limit is not what it must be */
export function serverLimits(given: ServerLimitOptions | undefined): CheckedServerLimits {
  const all = withDefaults('options.limits', given, SERVER_LIMITS)
  for (const name of ['idle', 'handshake'] as const) atLeast(0, `options.limits.${name}`, all[name])
  return {
    ...checkedConnection(all),
    connections: orNone('connections', all.connections),
    inFlight: checkedInFlight(all.inFlight),
    inFlightPerConnection: orNone('inFlightPerConnection', all.inFlightPerConnection),
    streams: orNone('streams', all.streams),
    headerSize: orNone('headerSize', all.headerSize),
    idle: all.idle,
    handshake: all.handshake
  }
}

function checkedConnection(all: Required<CheckedConnectionLimits>): CheckedConnectionLimits {
  atLeast(0, 'options.limits.incompleteMessage', all.incompleteMessage)
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

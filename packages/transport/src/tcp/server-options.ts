/** The options of a TCP server, with their defaults in one table. */
import { ValidationError } from '../errors.ts'
import type { AdaptiveConcurrencyOptions, ConcurrencyBounds } from '../limits/adaptive-concurrency.ts'
import { adaptiveOptions } from '../limits/server-limits.ts'
import type { Authenticate } from '../protocol/rsocket/options.ts'
import type { ResumeOptions } from '../protocol/rsocket/resume.ts'
import { atLeast, defined } from './check-option.ts'
import { type Checked, checked, DEFAULTS, type Defaults, resumeOptions, type TcpOptions } from './options.ts'
import { checkAllow, checkServerTls, type ServerSecurityOptions } from './security-options.ts'

/** Options of a TCP server. */
export interface TcpServerOptions extends TcpOptions, ServerSecurityOptions {
  /**
   * Other processes may listen on the port too, if all of them say so: the system spreads connections over them
   * (`SO_REUSEPORT`, which does that on Linux only; under Bun, and on Node from 22.12). Default: false, the port is
   * taken.
   */
  readonly reusePort?: boolean | undefined
  /**
   * RSocket: requests of one connection that may be in flight at the same time; 0 for no limit. Clients that
   * honour leases are granted them; requests beyond are answered with `REJECTED`. Default: 0.
   */
  readonly maxInFlight?: number | undefined
  /**
   * Requests, events and streams of all connections that may be in flight at the same time; 0 for no limit.
   * Beyond, RSocket requests are answered with `REJECTED` (clients that honour leases are told before), and
   * Nest's wait in their connection's buffer, whose bound is `maxBufferSize`. Handlers that answer in the turn a
   * message comes are never in flight. Default: 0.
   */
  readonly maxTotalInFlight?: number | undefined
  /**
   * Lets a limit of requests and events in flight find itself, by how long handlers take: `'adaptive'`, or with
   * bounds of its own. What is beyond it is treated as with `maxTotalInFlight`. Streams are not counted.
   * Default: no such limit.
   */
  readonly concurrency?: 'adaptive' | AdaptiveConcurrencyOptions | undefined
  /**
   * Connections that may be open at the same time; 0 for no limit. More are closed, those of RSocket with
   * `REJECTED_SETUP`. Default: 65,536.
   */
  readonly maxConnections?: number | undefined
  /**
   * Streams one connection may have open; 0 for no limit. More are answered with `REJECTED`. Default: 65,536.
   */
  readonly maxStreams?: number | undefined
  /**
   * RSocket: bytes the metadata (route, headers, credentials) of a request, of SETUP or of METADATA_PUSH may have; 0
   * for no limit. Larger ones are answered with `INVALID` or `INVALID_SETUP`; METADATA_PUSH, which has no answer, is
   * dropped. Default: 65,536.
   */
  readonly maxHeaderSize?: number | undefined
  /**
   * Milliseconds after which a connection without any traffic is closed, up to a quarter later; 0 for no limit.
   * One with something in flight is closed only if its peer takes nothing of what is there to be read. Keepalive
   * counts as traffic. Default: 0, as in Nest.
   */
  readonly idleTimeout?: number | undefined
  /** RSocket: milliseconds a lease is good for, with `maxInFlight`. Default: 30,000. */
  readonly leaseTimeToLive?: number | undefined
  /**
   * RSocket: is asked about each connection, and about each request that carries credentials. Throwing,
   * rejecting or `false` refuses. Default: everybody is welcome.
   */
  readonly authenticate?: Authenticate | undefined
  /**
   * RSocket: milliseconds from the first byte of a connection until it must be set up and authenticated. TLS:
   * milliseconds until its handshake must have begun, and then until it must be over. 0 for no limit. Default: 10,000.
   */
  readonly handshakeTimeout?: number | undefined
  /** RSocket: let clients resume lost connections. `true`: with the defaults. Default: false. */
  readonly resume?: boolean | ResumeOptions | undefined
}

/** Options as a server uses them. */
export type CheckedServerOptions = Omit<Checked<TcpServerOptions>, 'concurrency'> & {
  readonly concurrency: ConcurrencyBounds | undefined
}

/** What a server does where its options are silent. */
export const SERVER_DEFAULTS: Defaults<TcpServerOptions> = {
  ...DEFAULTS,
  reusePort: false,
  maxInFlight: 0,
  maxTotalInFlight: 0,
  maxConnections: 65_536,
  maxStreams: 65_536,
  maxHeaderSize: 65_536,
  idleTimeout: 0,
  leaseTimeToLive: 30_000,
  handshakeTimeout: 10_000
}

/**
 * Options with every default filled in.
 * @throws {ValidationError} an option is not what it must be
 */
export function serverOptions(options: TcpServerOptions): CheckedServerOptions {
  const all: Defaults<TcpServerOptions> = checked({ ...SERVER_DEFAULTS, ...defined(options) })
  atLeast(0, 'maxInFlight', all.maxInFlight)
  atLeast(0, 'maxTotalInFlight', all.maxTotalInFlight)
  atLeast(0, 'maxConnections', all.maxConnections)
  atLeast(0, 'maxStreams', all.maxStreams)
  atLeast(0, 'maxHeaderSize', all.maxHeaderSize)
  atLeast(0, 'idleTimeout', all.idleTimeout)
  atLeast(1, 'leaseTimeToLive', all.leaseTimeToLive)
  atLeast(0, 'handshakeTimeout', all.handshakeTimeout)
  if (typeof all.reusePort !== 'boolean' || (all.reusePort && all.path !== undefined))
    throw new ValidationError('options.reusePort', 'true or false, and false with path', all.reusePort)
  checkServerTls(all.tls)
  checkAllow(all.allow, all.path)
  const concurrency = concurrencyOptions(options.concurrency)
  return { ...all, resume: resumeOptions(options.resume), concurrency }
}

function concurrencyOptions(concurrency: TcpServerOptions['concurrency']): ConcurrencyBounds | undefined {
  const isOptions = typeof concurrency === 'object' && concurrency !== null
  if (concurrency !== undefined && concurrency !== 'adaptive' && !isOptions)
    throw new ValidationError('options.concurrency', "'adaptive', or { initial, min, max }", concurrency)
  const bounds = adaptiveOptions(concurrency)
  if (bounds === undefined) return undefined
  atLeast(1, 'concurrency.min', bounds.min)
  atLeast(bounds.min, 'concurrency.max', bounds.max)
  atLeast(bounds.min, 'concurrency.initial', bounds.initial)
  if (bounds.initial > bounds.max)
    throw new ValidationError('options.concurrency.initial', `${bounds.max} (max) or less`, bounds.initial)
  return bounds
}

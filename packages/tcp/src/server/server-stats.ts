/** Current figures of a server, with their limits. They are counted only on request. */

import type { ResumableConnections, ServerLimits } from '@elysia-microservices/rsocket'
import type { Session } from '@elysia-microservices/rsocket/session'
import type { Address, TransportStats, Usage } from '@elysia-microservices/transport/kit'
import type { CheckedServerOptions } from '../options/server-options.ts'

/** Current figures of a TCP server. */
export interface TcpServerStats extends TransportStats {
  /** Number of open connections, those in their TLS handshakes included, and `limits.connections`. */
  readonly connections: Usage
  /**
   * Number of requests, events and streams in flight on all connections, and `limits.inFlight`. If that limit is set,
   * they count until their handlers end, even if their callers have cancelled or gone.
   */
  readonly inFlight: Usage
  /** Number of open streams of all connections. */
  readonly streams: number
  /** Number of connections (on Nest's wire, and on RSocket with leases) that wait for room in `limits.inFlight`. */
  readonly waiting: number
  /**
   * Lost connections that wait to be resumed, the bytes that are stored for them, and the limits of `rsocket.resume`.
   */
  readonly resumable: { readonly connections: Usage; readonly bytes: Usage }
  /** Bytes (RSocket) or UTF-16 units (Nest) that all connections have received and not yet handled. */
  readonly received: number
  /** Bytes that all connections have written and not yet sent. */
  readonly unsent: number
  /** For each limit of a single connection, the highest value of all connections. */
  readonly perConnection: {
    /** `limits.inFlightPerConnection` */
    readonly inFlight: Usage
    /** `limits.streams` */
    readonly streams: Usage
    /** `limits.receiveBuffer` */
    readonly received: Usage
    /** `limits.sendBuffer` */
    readonly unsent: Usage
  }
  /** Number of refusals because of each limit, since the server was made. */
  readonly refused: {
    /** `limits.connections` */
    readonly connections: number
    /** `limits.inFlight`, `limits.inFlightPerConnection` */
    readonly requests: number
    /** `limits.streams` */
    readonly streams: number
    /** `limits.headerSize` */
    readonly headers: number
    /** Lost connections that were dropped: `rsocket.resume.waiting`, `rsocket.resume.waitingSize` */
    readonly waiting: number
  }
  /** Connections closed because of `limits.idle` or `limits.silence`, since the server was made. */
  readonly closedIdle: number
}

/** Counts the figures of all connections. */
export function serverStats(
  address: Address | undefined,
  sessions: ReadonlySet<Session>,
  handshaking: number,
  { limits: allowed, rsocket: { resume } }: CheckedServerOptions,
  limits: ServerLimits,
  resumable: ResumableConnections | undefined
): TcpServerStats {
  const total = { inFlight: 0, streams: 0, received: 0, unsent: 0 }
  const highest = { ...total }
  for (const session of sessions) {
    const { protocol, unsent } = session
    const { inFlight = 0, streams = 0, buffered: received = 0 } = protocol ?? {}
    const figures = { inFlight, streams, received, unsent }
    for (const key of Object.keys(total) as (keyof typeof total)[]) {
      total[key] += figures[key]
      highest[key] = Math.max(highest[key], figures[key])
    }
  }
  const { idleConnections, ...refused } = limits.refusals
  const { admission, adaptive } = limits
  const inFlightLimit =
    adaptive?.limit ?? (typeof allowed.inFlight === 'number' ? allowed.inFlight : Number.POSITIVE_INFINITY)
  return {
    transport: 'tcp',
    address,
    connections: gauge(sessions.size + handshaking, allowed.connections),
    inFlight: gauge(admission?.inFlight ?? total.inFlight, inFlightLimit),
    streams: total.streams,
    waiting: admission?.waiting ?? 0,
    resumable: {
      connections: gauge(resumable?.waiting.connections ?? 0, resume?.waiting ?? 0),
      bytes: gauge(resumable?.waiting.bytes ?? 0, resume?.waitingSize ?? 0)
    },
    received: total.received,
    unsent: total.unsent,
    perConnection: {
      inFlight: gauge(highest.inFlight, allowed.inFlightPerConnection),
      streams: gauge(highest.streams, allowed.streams),
      received: gauge(highest.received, allowed.receiveBuffer),
      unsent: gauge(highest.unsent, allowed.sendBuffer)
    },
    refused,
    closedIdle: idleConnections
  }
}

/** A figure and its limit. No limit is `Infinity` inside, and `false` for users, as in the options. */
function gauge(current: number, limit: number): Usage {
  return { current, limit: Number.isFinite(limit) && limit }
}

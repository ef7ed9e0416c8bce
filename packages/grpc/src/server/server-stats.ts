/** Current figures of a gRPC server, with their limits. They are counted only on request. */
import type { ServerLimits } from '@elysia-microservices/rsocket'
import type { Session } from '@elysia-microservices/rsocket/session'
import type { Address, TransportStats, Usage } from '@elysia-microservices/transport/kit'
import type { CheckedGrpcServerOptions } from '../options/options.ts'

/** Current figures of a gRPC server. */
export interface GrpcServerStats extends TransportStats {
  /** Number of open connections, those in their TLS handshakes included, and `limits.connections`. */
  readonly connections: Usage
  /**
   * Number of calls in flight on all connections, and `limits.inFlight`. If that limit is set, they count until their
   * handlers end, even if their callers have cancelled or gone.
   */
  readonly inFlight: Usage
  /** Bytes that all connections have received and not yet handled. */
  readonly received: number
  /** Bytes that all connections have written and not yet sent. */
  readonly unsent: number
  /** For each limit of a single connection, the highest value of all connections. */
  readonly perConnection: {
    /** `limits.streams` */
    readonly inFlight: Usage
    /** `limits.receiveBuffer` */
    readonly received: Usage
    /** `limits.sendBuffer` */
    readonly unsent: Usage
  }
  /** Number of refusals because of each limit, since the server was made. */
  readonly refused: {
    /** `limits.connections` */
    readonly connections: number
    /** `limits.inFlight` */
    readonly requests: number
    /** `limits.streams` */
    readonly streams: number
    /** `limits.headerSize` */
    readonly headers: number
  }
  /** Connections closed because of `limits.idle` or `limits.silence`, since the server was made. */
  readonly closedIdle: number
}

/** Counts the figures of all connections. */
export function serverStats(
  address: Address | undefined,
  sessions: ReadonlySet<Session>,
  handshaking: number,
  { limits: allowed }: CheckedGrpcServerOptions,
  limits: ServerLimits
): GrpcServerStats {
  const total = { inFlight: 0, streams: 0, received: 0, unsent: 0 }
  const highest = { ...total }
  for (const { protocol, unsent } of sessions) {
    const { inFlight = 0, streams = 0, buffered: received = 0 } = protocol ?? {}
    const figures = { inFlight, streams, received, unsent }
    for (const key of Object.keys(total) as (keyof typeof total)[]) {
      total[key] += figures[key]
      highest[key] = Math.max(highest[key], figures[key])
    }
  }
  const { connections, requests, streams, headers, idleConnections } = limits.refusals
  const { admission, adaptive } = limits
  const { inFlight } = allowed
  const mostInFlight = adaptive?.limit ?? (typeof inFlight === 'number' ? inFlight : Number.POSITIVE_INFINITY)
  return {
    transport: 'grpc',
    address,
    connections: gauge(sessions.size + handshaking, allowed.connections),
    inFlight: gauge(admission?.inFlight ?? total.inFlight, mostInFlight),
    streams: total.streams,
    received: total.received,
    unsent: total.unsent,
    perConnection: {
      inFlight: gauge(highest.inFlight, allowed.streams),
      received: gauge(highest.received, allowed.receiveBuffer),
      unsent: gauge(highest.unsent, allowed.sendBuffer)
    },
    refused: { connections, requests, streams, headers },
    closedIdle: idleConnections
  }
}

/** A figure and its limit. No limit is `Infinity` inside, and `false` for users, as in the options. */
function gauge(current: number, limit: number): Usage {
  return { current, limit: Number.isFinite(limit) && limit }
}

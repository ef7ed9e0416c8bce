/** What a server does at the moment, next to its limits. Counted when somebody asks, and not before. */
import type { ServerLimits } from '../limits/server-limits.ts'
import type { Session } from '../session.ts'
import type { SocketAddress } from '../socket/socket.ts'
import type { CheckedServerOptions } from './server-options.ts'

/** A figure next to its limit. */
export interface Gauge {
  readonly current: number
  /** 0 if there is none. */
  readonly limit: number
}

/** What a server does at the moment. */
export interface ServerStats {
  /** Where it listens; `undefined` while it does not. */
  readonly address: SocketAddress | undefined
  /** Open connections, and `maxConnections`. */
  readonly connections: Gauge
  /**
   * Requests, events and streams in flight on all connections, and `maxTotalInFlight`. With that limit or
   * `concurrency`, also those whose callers have given up or gone while their handlers still run.
   */
  readonly inFlight: Gauge
  /** With `concurrency`: the limit of requests and events in flight at the moment, and its `max`. */
  readonly concurrency: Gauge | undefined
  /** Streams that all connections have open. */
  readonly streams: number
  /** Connections that wait for room in `maxTotalInFlight` or `concurrency`: Nest's, and those with leases. */
  readonly waiting: number
  /** Bytes (RSocket) or UTF-16 units (Nest) received by all connections and not yet handled. */
  readonly received: number
  /** Bytes written by all connections and not yet sent. */
  readonly unsent: number
  /** For each limit of a single connection, how near to it the nearest connection is. */
  readonly perConnection: {
    /** `maxInFlight` */
    readonly inFlight: Gauge
    /** `maxStreams` */
    readonly streams: Gauge
    /** `maxBufferSize` */
    readonly received: Gauge
    /** `maxSendBufferSize` */
    readonly unsent: Gauge
  }
  /** Refused because of a limit, since the server was made. */
  readonly refused: {
    /** `maxConnections` */
    readonly connections: number
    /** `maxInFlight`, `maxTotalInFlight`, `concurrency` */
    readonly requests: number
    /** `maxStreams` */
    readonly streams: number
    /** `maxHeaderSize` */
    readonly headers: number
  }
  /** Connections closed because of `idleTimeout`, since the server was made. */
  readonly closedIdle: number
}

/** Counts. */
export function serverStats(
  address: SocketAddress | undefined,
  sessions: ReadonlySet<Session>,
  options: CheckedServerOptions,
  limits: ServerLimits
): ServerStats {
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
  const { concurrency } = options
  return {
    address,
    connections: gauge(sessions.size, options.maxConnections),
    inFlight: gauge(admission?.inFlight ?? total.inFlight, options.maxTotalInFlight),
    concurrency:
      adaptive === undefined || concurrency === undefined
        ? undefined
        : gauge(adaptive.limit, concurrency.max),
    streams: total.streams,
    waiting: admission?.waiting ?? 0,
    received: total.received,
    unsent: total.unsent,
    perConnection: {
      inFlight: gauge(highest.inFlight, options.maxInFlight),
      streams: gauge(highest.streams, options.maxStreams),
      received: gauge(highest.received, options.maxBufferSize),
      unsent: gauge(highest.unsent, options.maxSendBufferSize)
    },
    refused,
    closedIdle: idleConnections
  }
}

/** Where `Infinity` stands for no limit inside, users see 0, as in their options; JSON has no infinity. */
function gauge(current: number, limit: number): Gauge {
  return { current, limit: Number.isFinite(limit) ? limit : 0 }
}

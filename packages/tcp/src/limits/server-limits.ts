/** What all connections of a server share of its limits, and the count of what was refused because of them. */
import type { Logger } from '@elysia-microservices/transport/kit'
import { AdaptiveConcurrency, type ConcurrencyBounds } from './adaptive-concurrency.ts'
import { Admission } from './admission.ts'
import { QuietLog } from './quiet-log.ts'

/** What can be refused, or closed, because of a limit. */
export type Refused = 'connections' | 'requests' | 'streams' | 'headers' | 'idleConnections'

/** What a connection needs to know of limits that are not its own; `Infinity` for no limit. */
export interface SharedLimits {
  /** Limits work in flight in total; `undefined` if nothing does. */
  readonly admission: Admission | undefined
  /** Requests one connection may have in flight. */
  readonly maxInFlight: number
  /** Streams one connection may have open. */
  readonly maxStreams: number
  /** Bytes the metadata of a request, of SETUP or of METADATA_PUSH may have. */
  readonly maxHeaderSize: number
  /** Something was refused. @param message why, for the log */
  refused(what: Refused, message: string): void
}

/** For a side that has no limits: a client that answers its server. */
export const NO_LIMITS: SharedLimits = {
  admission: undefined,
  maxInFlight: Number.POSITIVE_INFINITY,
  maxStreams: Number.POSITIVE_INFINITY,
  maxHeaderSize: Number.POSITIVE_INFINITY,
  refused() {}
}

/** What makes up a server's limits; `Infinity` for no limit. */
export interface ServerLimitsInit {
  /** Of all connections, or bounds between which it finds itself. */
  readonly inFlight: number | ConcurrencyBounds
  readonly maxInFlight: number
  readonly maxStreams: number
  readonly maxHeaderSize: number
  readonly logger: Logger
}

const SUBJECTS: Readonly<Record<Refused, string>> = {
  connections: 'A connection was refused',
  requests: 'A request was refused',
  streams: 'A stream was refused',
  headers: 'Metadata was refused',
  idleConnections: 'A connection was closed'
}

/** The limits of one server. */
export class ServerLimits implements SharedLimits {
  readonly admission: Admission | undefined
  readonly adaptive: AdaptiveConcurrency | undefined
  readonly maxInFlight: number
  readonly maxStreams: number
  readonly maxHeaderSize: number
  readonly #log: QuietLog
  readonly #refused: Record<Refused, number> = {
    connections: 0,
    requests: 0,
    streams: 0,
    headers: 0,
    idleConnections: 0
  }

  /**
   * @param now milliseconds, of a clock that never goes back
   * @param afterTurn calls the task when this turn of the event loop is over
   */
  constructor(init: ServerLimitsInit, now: () => number, afterTurn: (task: () => void) => void) {
    const { inFlight } = init
    const isAdaptive = typeof inFlight === 'object'
    if (isAdaptive) this.adaptive = new AdaptiveConcurrency(inFlight)
    const maxInFlight = isAdaptive ? Number.POSITIVE_INFINITY : inFlight
    if (isAdaptive || maxInFlight < Number.POSITIVE_INFINITY)
      this.admission = new Admission({ maxInFlight, adaptive: this.adaptive, now, afterTurn })
    this.maxInFlight = init.maxInFlight
    this.maxStreams = init.maxStreams
    this.maxHeaderSize = init.maxHeaderSize
    this.#log = new QuietLog(init.logger, now)
  }

  /** How often each was refused since the server was made. */
  get refusals(): Readonly<Record<Refused, number>> {
    return { ...this.#refused }
  }

  refused(what: Refused, message: string): void {
    this.#refused[what]++
    this.#log.warn(what, `${SUBJECTS[what]}: ${message}`)
  }
}

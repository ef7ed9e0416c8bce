/** The limits that all connections of a server share, and the number of refusals. */
import { type Logger, QuietLog } from '@elysia-microservices/transport/kit'
import { AdaptiveConcurrency, type ConcurrencyBounds } from './adaptive-concurrency.ts'
import { Admission } from './admission.ts'

/** The kinds of refusals that limits cause. */
export type Refused = 'connections' | 'requests' | 'streams' | 'headers' | 'idleConnections' | 'waiting'

/** The server's limits, as a connection uses them; `Infinity` for no limit. */
export interface SharedLimits {
  /** Limits the work in flight on all connections; `undefined` for no limit. */
  readonly admission: Admission | undefined
  /** Most requests that one connection may have in flight. */
  readonly maxInFlight: number
  /** Most streams that one connection may have open. */
  readonly maxStreams: number
  /** Most bytes of metadata in a request, SETUP or METADATA_PUSH. */
  readonly maxHeaderSize: number
  /**
   * Counts and logs a refusal.
   * @param message the reason, for the log
   */
  refused(what: Refused, message: string): void
}

/** The limits of a client that answers its server's calls: none. */
export const NO_LIMITS: SharedLimits = /* @__PURE__ */ noLimits()

/** A function, so that a page, which has no limits, leaves them out. */
function noLimits(): SharedLimits {
  return {
    admission: undefined,
    maxInFlight: Number.POSITIVE_INFINITY,
    maxStreams: Number.POSITIVE_INFINITY,
    maxHeaderSize: Number.POSITIVE_INFINITY,
    refused() {}
  }
}

/** The limits of a server; `Infinity` for no limit. */
export interface ServerLimitsInit {
  /** The limit for all connections together: a number, or the bounds of an adaptive limit. */
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
  idleConnections: 'A connection was closed',
  waiting: 'A lost connection was dropped'
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
    idleConnections: 0,
    waiting: 0
  }

  /**
   * @param now milliseconds of a clock that never goes back
   * @param afterTurn calls the task when this turn of the event loop has ended
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

  /** Number of refusals of each kind since the server was made. */
  get refusals(): Readonly<Record<Refused, number>> {
    return { ...this.#refused }
  }

  refused(what: Refused, message: string): void {
    this.#refused[what]++
    this.#log.warn(what, `${SUBJECTS[what]}: ${message}`)
  }
}

/** What all connections of a server share of its limits, and the count of what was refused because of them. */
import type { Logger } from '../logger.ts'
import {
  ADAPTIVE_DEFAULTS,
  AdaptiveConcurrency,
  type AdaptiveConcurrencyOptions,
  type ConcurrencyBounds
} from './adaptive-concurrency.ts'
import { Admission } from './admission.ts'
import { QuietLog } from './quiet-log.ts'

/** What can be refused, or closed, because of a limit. */
export type Refused = 'connections' | 'requests' | 'streams' | 'headers' | 'idleConnections'

/** What a connection needs to know of limits that are not its own. */
export interface SharedLimits {
  /** Limits work in flight in total; `undefined` if nothing does. */
  readonly admission: Admission | undefined
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
  maxStreams: Number.POSITIVE_INFINITY,
  maxHeaderSize: Number.POSITIVE_INFINITY,
  refused() {}
}

/** Options that make up a server's limits; 0 stands for no limit. */
export interface ServerLimitsOptions {
  readonly maxTotalInFlight: number
  readonly maxStreams: number
  readonly maxHeaderSize: number
  readonly concurrency: ConcurrencyBounds | undefined
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
  constructor(options: ServerLimitsOptions, now: () => number, afterTurn: (task: () => void) => void) {
    const { maxTotalInFlight, maxStreams, maxHeaderSize, concurrency, logger } = options
    if (concurrency !== undefined) this.adaptive = new AdaptiveConcurrency(concurrency)
    if (maxTotalInFlight > 0 || this.adaptive !== undefined)
      this.admission = new Admission({ maxTotalInFlight, adaptive: this.adaptive, now, afterTurn })
    this.maxStreams = orNone(maxStreams)
    this.maxHeaderSize = orNone(maxHeaderSize)
    this.#log = new QuietLog(logger, now)
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

function orNone(limit: number): number {
  return limit === 0 ? Number.POSITIVE_INFINITY : limit
}

/** `concurrency` with its defaults; `undefined` if it is not asked for. */
export function adaptiveOptions(
  concurrency: 'adaptive' | AdaptiveConcurrencyOptions | undefined
): ConcurrencyBounds | undefined {
  if (concurrency === undefined) return undefined
  const given = concurrency === 'adaptive' ? {} : concurrency
  const { min = ADAPTIVE_DEFAULTS.min, max = Math.max(min, ADAPTIVE_DEFAULTS.max) } = given
  const { initial = Math.min(max, Math.max(min, ADAPTIVE_DEFAULTS.initial)) } = given
  return { initial, min, max }
}

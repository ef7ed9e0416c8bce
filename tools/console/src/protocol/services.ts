/** The services that the page shows, and their descriptions. */

/** The facts about services that change rarely. */
export interface Overview {
  /** Whether the page may call patterns. */
  readonly canTry: boolean
  /** Milliseconds between two samples. */
  readonly interval: number
  readonly services: readonly ServiceView[]
  /** The number of services that are not watched, because there are too many; missing if there are none. */
  readonly leftOut?: number
}

/** One service, or one process of it. Its last description is kept while it does not answer. */
export interface ServiceView {
  /** Identifies the view: the service, and the instance if the service has several. */
  readonly id: string
  /** The name under which `consolePage()` got the service's client. */
  readonly service: string
  /** The id of this process; missing if the service does not send one. */
  readonly instance?: string
  /** The reason why the service does not describe itself at the moment; missing if it does. */
  readonly problem?: string
  /** The service does not answer at all, which is worse than refusing to describe itself. */
  readonly isSilent?: true
  /** The engine between the console and the service cannot be reached, so it is unknown whether the service runs. */
  readonly isCutOff?: true
  readonly described?: DescribedService
}

/** The description of a service. All its texts and numbers have been checked and are limited in size. */
export interface DescribedService {
  readonly name: string
  readonly version: string
  readonly status: string
  /** Whether the service counts messages with `telemetry()`. */
  readonly isCounted: boolean
  /** The process, for those who know it by another name than that of the service; missing if it tells nothing. */
  readonly process?: ProcessNames
  /** Missing if the page does not show this service. */
  readonly patterns?: readonly PatternView[]
  /** The parts that were left out because of limits, in words. */
  readonly leftOut: readonly string[]
}

/** The names under which the calls and spans of a process are known. */
export interface ProcessNames {
  readonly name: string
  /** The names of its clients that have a name of their own. */
  readonly clients: readonly string[]
}

/** A JSON Schema. It is only certain that it is a JSON object. */
export type Schema = Readonly<Record<string, unknown>>

/** One pattern of one handler. */
export interface PatternView {
  readonly kind: Kind
  /** Only a pattern with the form `exact` can be called as it is written. */
  readonly form: 'exact' | 'wildcard' | 'regexp' | 'all'
  readonly pattern: string
  readonly data?: Schema
  readonly headers?: Schema
  readonly response?: Schema
  /** The errors that the pattern declares, by code, each with the schema of its details. */
  readonly errors?: Schema
  /** Milliseconds that the handler may take; missing if it says none. */
  readonly timeout?: number
  /** The handler may run twice. */
  readonly idempotent?: true
  /** Its data is a stream, and the schema of the data is that of the stream's values. */
  readonly takesStream?: true
  /** Its answer is known to be a stream. */
  readonly answersStream?: true
  readonly hooks: readonly string[]
}

export type Kind = 'message' | 'event'

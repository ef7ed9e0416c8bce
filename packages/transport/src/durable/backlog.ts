/** The backlog of a group: events that are stored for it and not handled yet, as operators look at them. */
import type { MessageHeaders } from '../headers.ts'

/** An event of a backlog. */
export interface BacklogEvent {
  /** The position of the event in the engine's store. */
  readonly position: string
  /** The pattern to which the event was published. */
  readonly pattern: string
  /** The id with which the event was published. */
  readonly id: string
  readonly key: string | undefined
  readonly headers: MessageHeaders
  readonly data: unknown
  readonly publishedAt: Date
  /** `waiting`: no process has it; `running`: a process has it; `pausing`: it failed, and comes again at `dueAt`. */
  readonly state: 'waiting' | 'running' | 'pausing'
  /** Number of runs that have begun. */
  readonly attempts: number
  /** The time of the next attempt; `undefined` if the event does not pause. */
  readonly dueAt: Date | undefined
}

/** Options of `backlog()`. */
export interface ListBacklogOptions {
  /** Most events that are listed. Default: all. */
  readonly limit?: number | undefined
}

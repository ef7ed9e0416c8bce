/** Durable events: groups, dead letters, and events that wait for their time. */
import type { OutboxView } from './figures.ts'

/** Durable events: the groups that handle them, and the outboxes in which they wait. */
export interface EventsView {
  readonly groups: readonly GroupView[]
  /** The stores in which events wait for their time. */
  readonly stores: readonly StoreView[]
  readonly outboxes: readonly OutboxOf[]
}

/** A store that keeps events until their time comes. */
export interface StoreView {
  /** The name of the transport or store. */
  readonly engine: string
  /** A service whose client is used to reach it. */
  readonly service: string
}

/** Events that wait for their time, the soonest first. */
export interface WaitingEventsView {
  readonly events: readonly WaitingEventView[]
  readonly hasMore: boolean
}

/** An event that waits for its time. */
export interface WaitingEventView {
  readonly pattern: string
  readonly id: string
  readonly key?: string
  /** Its time, in milliseconds since 1970. */
  readonly at: number
  /** The rule of an event that recurs, in words. */
  readonly rule?: string
  /** The data as JSON text. `cut` is the number of characters that were left out. */
  readonly data: string
  readonly cut: number
}

/** A group of handlers that share durable events, combined over all its processes. */
export interface GroupView {
  /** The name of the transport that stores the group's events. */
  readonly engine: string
  readonly group: string
  /** A service of the group; its client is used to reach the engine. */
  readonly service: string
  readonly processes: number
  /** How many of the processes do not answer. */
  readonly notReached: number
  readonly handlers: readonly GroupHandler[]
  /** Events that wait or run, as the store tells; only if no process of the group does. */
  readonly waits?: StoredCount
  /**
   * The number of dead letters; above 100 it means more than 100. Missing if the number is not known yet, or cannot
   * be read.
   */
  readonly dead?: number
  /** The reason why the number of dead letters is unknown. */
  readonly deadUnknown?: string
}

/** A number of stored events. */
export interface StoredCount {
  readonly count: number
  /** There are more than that. */
  readonly isLeast?: true
}

/** One pattern of a group. */
export interface GroupHandler {
  readonly pattern: string
  /** The services that handle it for the group. */
  readonly services: readonly string[]
  /** Events that are stored and have not been handled; missing if the number is unknown. */
  readonly waits?: number
  /** Events that are being handled at the moment; missing if nothing counts them. */
  readonly runs?: number
  /** Deliveries that were not the first ones, since the processes began. */
  readonly triedAgain: number
  /** Events that became dead letters, since the processes began. */
  readonly died: number
  readonly isPaused: boolean
  /** The reason why the handler gets no events at the moment; missing if it does. */
  readonly unavailable?: string
}

/** An outbox, and the service whose process runs its relay. */
export interface OutboxOf extends OutboxView {
  readonly service: string
  /** Events that were published a second, lately. */
  readonly rate: number
  /** The process does not answer, so its figures are old. */
  readonly isSilent?: true
}

/** Events that a group has not handled, the oldest first. */
export interface BacklogView {
  readonly events: readonly BacklogEventView[]
  readonly hasMore: boolean
  /** Number of further events that a process has, or that pause, of a store that does not list those. */
  readonly unlisted: number
}

/** An event that a group has not handled. */
export interface BacklogEventView {
  readonly position: string
  readonly pattern: string
  readonly id: string
  readonly key?: string
  /** `waiting`: no process has it; `running`: a process has it; `pausing`: it failed, and comes again at `dueAt`. */
  readonly state: 'waiting' | 'running' | 'pausing'
  /** Number of runs that have begun. */
  readonly attempts: number
  /** Milliseconds since 1970, as the other times. */
  readonly dueAt?: number
  readonly publishedAt: number
  /** The data as JSON text. `cut` is the number of characters that were left out. */
  readonly data: string
  readonly cut: number
  readonly traceId?: string
}

/** Dead letters of a group, the oldest first. */
export interface DeadLettersView {
  readonly letters: readonly DeadLetterView[]
  readonly hasMore: boolean
}

/** An event whose handlers have failed for good. */
export interface DeadLetterView {
  readonly position: string
  readonly pattern: string
  readonly id: string
  readonly key?: string
  readonly reason: string
  readonly attempts: number
  /** The data as JSON text. `cut` is the number of characters that were left out. */
  readonly data: string
  readonly cut: number
  readonly traceId?: string
  /** Milliseconds since 1970. */
  readonly publishedAt: number
  readonly diedAt: number
  /** The parts that the engine could not store, because it had no room for them. */
  readonly leftOut: readonly string[]
}

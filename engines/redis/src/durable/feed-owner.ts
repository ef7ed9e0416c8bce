/** The options of a feed, and the handler that it tells of its events. */
import type { Logger } from '@elysia-microservices/transport/kit'
import type { RedisEvent, Source } from './event.ts'
import type { HeldEvents } from './held.ts'
import type { Rounds } from './rounds.ts'

/** A feed whose stream, or whose group in it, is gone. */
export interface LostFeed {
  readonly source: Source
  /** Perhaps the only copies of these events. */
  readonly held: HeldEvents
}

/** Handles the events of a feed. */
export interface FeedOwner {
  /** Events that may be requested. */
  readonly room: number
  /**
   * Whether no events are to be requested: the service has not started yet, or a stream or group is missing or being
   * created.
   */
  readonly isIdle: boolean
  /**
   * Takes events.
   * @param isAll only for ordered handlers: these are all events that are not done, including those that have not
   * begun here
   */
  receive(events: readonly RedisEvent[], isAll: boolean): void
  /** Lets all feeds request events: a request has ended, and room that was kept for its answer may be left. */
  fill(): void
  /** Only for ordered handlers: another process has the events, or may have them. */
  uncertain(): void
  paused(isPaused: boolean): void
  /** The stream, or the group in it, no longer exists. */
  gone(feed: LostFeed, why: string): void
}

export interface FeedOptions {
  readonly source: Source
  readonly group: string
  /** Identifies this process. */
  readonly process: string
  readonly ackWait: number
  /** Milliseconds for which events are kept. */
  readonly maxAge: number
  /** The key that holds the process whose turn it is; only for ordered handlers. */
  readonly turn?: string | undefined
  readonly owner: FeedOwner
  readonly rounds: Rounds
  readonly logger: Logger
}

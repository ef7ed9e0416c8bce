/** Events that a store keeps until their time comes, and then delivers. */
import { OptionError } from '../errors/index.ts'
import type { MessageHeaders } from '../headers.ts'
import type { Pattern } from '../pattern.ts'

/** The time of an event, among the options of `publish`: one of the two, or none for now. */
export interface EventTime {
  /** The event is delivered at this time or up to about a second later, by the clock of the store; never before. */
  readonly at?: Date | undefined
  /** The same, as milliseconds from now. */
  readonly delay?: number | undefined
}

/** An event that waits for its time. */
export interface WaitingEvent {
  readonly pattern: string
  readonly id: string
  readonly key: string | undefined
  /** The time from which on it is delivered. */
  readonly at: Date
  readonly headers: MessageHeaders
  readonly data: unknown
}

/** Options of `waiting()`. */
export interface ListWaitingOptions {
  /** Lists events of this pattern only. Default: of all patterns. */
  readonly pattern?: Pattern | undefined
  /** Most events that are listed. Default: all. */
  readonly limit?: number | undefined
}

/** The events that wait in a store. */
export interface FutureEvents {
  /**
   * Deletes an event that waits.
   * @returns true if it was still waiting: it will not be delivered
   */
  cancel(pattern: Pattern, id: string): Promise<boolean>
  /**
   * Makes an event that waits due now.
   * @returns false if it does not wait
   */
  fire(pattern: Pattern, id: string): Promise<boolean>
  /** The time by which events become due, in milliseconds since 1970: the clock of this process may differ. */
  now(): Promise<number>
  /** Lists events that wait, the soonest first. */
  list(options?: ListWaitingOptions): AsyncIterable<WaitingEvent>
}

/** The latest time that a `Date` can be. */
const LATEST = 8.64e15

/** Checks the time of an event. @throws {OptionError} it is no time, or there are two */
export function checkTime({ at, delay }: EventTime): void {
  if (at !== undefined && !(at instanceof Date && !Number.isNaN(at.getTime())))
    throw OptionError.expected('options.at', 'a valid Date', at)
  if (delay !== undefined && !(typeof delay === 'number' && delay >= 0 && delay <= LATEST))
    throw OptionError.expected('options.delay', 'milliseconds, 0 or more', delay)
  if (at !== undefined && delay !== undefined)
    throw new OptionError(
      'options.delay',
      'options.delay and options.at are two times of one event: give one of them'
    )
}

/**
 * The time of an event in milliseconds since 1970; `undefined`: it is delivered at once.
 * @param now milliseconds since 1970
 * @param isOtherClock whether it becomes due by another clock, by which a time that has passed here may be to come
 */
export function dueOf({ at, delay = 0 }: EventTime, now: number, isOtherClock = false): number | undefined {
  const due = at === undefined ? Math.min(now + delay, LATEST) : at.getTime()
  return due > now || (isOtherClock && at !== undefined) ? due : undefined
}

/** Whether an event has a time among its options. */
export function hasTime({ at, delay }: EventTime): boolean {
  return at !== undefined || delay !== undefined
}

/** The error of an event with a time, if the store cannot keep it until then. @param title the name of the store */
export function noFuture(title: string): OptionError {
  return new OptionError(
    'options.at',
    `${title} cannot keep an event until a time (at, delay): give service and client a store that can, beside the transport (options.store; docs/later.md lists them)`
  )
}

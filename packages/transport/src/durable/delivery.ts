/** Describes the delivery of a stored event to its handler. */
import type { Delivery } from '../message.ts'
import { ageOf } from './clock.ts'
import type { HeldEvent } from './durable-engine.ts'

/** The latest time that a `Date` can be. */
const LATEST = 8.64e15

/** The fields of an event that its handler gets. */
export interface DeliveredEvent extends Pick<HeldEvent, 'id' | 'key' | 'attempt'> {
  /** Milliseconds since 1970; an invalid time counts as 0. */
  readonly publishedAt: number
  /** Position of the event in the engine's store; `undefined` if the engine has no positions. */
  readonly position: string | undefined
  /**
   * Whether the engine has delivered the event before; perhaps its handler ran, and its process ended. Default: whether
   * `attempt` is 2 or more.
   */
  readonly redelivered?: boolean
}

/**
 * Makes the `delivery` of an event that its handler gets.
 * @param now milliseconds since 1970
 */
export function deliveryOf(
  { id, key, attempt, publishedAt, position, redelivered = attempt > 1 }: DeliveredEvent,
  group: string,
  now: number = Date.now()
): Delivery {
  return {
    id,
    group,
    attempt,
    redelivered,
    key,
    publishedAt: dateOf(publishedAt),
    age: ageOf(publishedAt, now),
    position
  }
}

/**
 * Makes a `Date`; the date of 1970 if a `Date` cannot have that time.
 * @param time milliseconds since 1970
 */
export function dateOf(time: number): Date {
  return new Date(time >= 0 && time <= LATEST ? time : 0)
}

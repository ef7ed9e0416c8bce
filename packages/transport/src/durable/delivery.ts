/** Describes the delivery of a stored event to its handler. */
import type { Delivery } from '../message.ts'
import { ageOf } from './clock.ts'
import type { HeldEvent } from './worker.ts'

/** The latest time that a `Date` can be. */
const LATEST = 8.64e15

/** An event, as far as its handler is told of it. */
export interface DeliveredEvent extends Pick<HeldEvent, 'id' | 'key' | 'attempt'> {
  /** Milliseconds since 1970; what is no time counts as 0. */
  readonly publishedAt: number
  /** Where it is stored; `undefined` if the engine has no positions. */
  readonly position: string | undefined
}

/**
 * The delivery of an event, as its handler gets it.
 * @param now milliseconds since 1970
 */
export function deliveryOf(
  { id, key, attempt, publishedAt, position }: DeliveredEvent,
  group: string,
  now: number = Date.now()
): Delivery {
  return {
    id,
    group,
    attempt,
    redelivered: attempt > 1,
    key,
    publishedAt: dateOf(publishedAt),
    age: ageOf(publishedAt, now),
    position
  }
}

/** A date; 1970 if it is no time that a `Date` can have. @param time milliseconds since 1970 */
export function dateOf(time: number): Date {
  return new Date(time >= 0 && time <= LATEST ? time : 0)
}

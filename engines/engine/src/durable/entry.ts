/** An event on its way to the engine, as the publisher keeps it, and the errors with which it ends. */
import { ConnectionError, type Published, TimeoutError } from '@elysia-microservices/transport/kit'
import type { OutgoingEvent } from './outgoing-event.ts'

export interface Entry<Event> {
  readonly event: Event
  readonly sequence: number
  readonly deadline: number
  /** The times at which the event was sent first and last; 0: not yet. */
  firstSentAt: number
  sentAt: number
  /** The event has ended; its entry in a list is skipped. */
  isOver: boolean
  readonly resolve: (published: Published) => void
  readonly reject: (error: Error) => void
  /** Removes the listener from the event's signal. */
  forget: (() => void) | undefined
}

export function isOpen({ isOver }: Entry<unknown>): boolean {
  return !isOver
}

export function firstOfEachAddress<Event extends OutgoingEvent>(
  entries: readonly Entry<Event>[]
): Entry<Event>[] {
  const seen = new Set<string>()
  return entries.filter(({ event: { address } }) => !seen.has(address) && seen.add(address))
}

/** The error of an event whose time is over. @param reason why the engine takes no events, if it is known */
export function tooLate(entry: Entry<OutgoingEvent>, reason: string | undefined): TimeoutError {
  const { pattern, timeout } = entry.event
  const why = reason === undefined ? '' : ` (${reason})`
  return new TimeoutError(
    pattern,
    timeout,
    entry.firstSentAt !== 0,
    `Nobody has confirmed within ${timeout} ms that the event '${pattern}' is stored${why}; publish it again with its id`
  )
}

/** The error of an event that was sent over a lost connection, and cannot be sent again. */
export function uncertain({ pattern }: OutgoingEvent, title: string): ConnectionError {
  return new ConnectionError(
    `The connection to ${title} was lost before it was known whether the event '${pattern}' is stored; publish it again with its id`,
    true
  )
}

/** An event on its way to the engine, as the publisher keeps it, and the errors with which it ends. */
import {
  ConnectionError,
  NotStoredError,
  OverloadedError,
  PayloadTooLargeError,
  type Published,
  TimeoutError
} from '@elysia-microservices/transport/kit'
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

/** Makes the entry of an event that is published now. */
export function newEntry<Event extends OutgoingEvent>(
  event: Event,
  sequence: number,
  resolve: Entry<Event>['resolve'],
  reject: Entry<Event>['reject']
): Entry<Event> {
  const { timeout } = event
  const deadline = timeout === 0 ? Number.POSITIVE_INFINITY : performance.now() + timeout
  return {
    event,
    sequence,
    deadline,
    firstSentAt: 0,
    sentAt: 0,
    isOver: false,
    resolve,
    reject,
    forget: undefined
  }
}

export function isOpen({ isOver }: Entry<unknown>): boolean {
  return !isOver
}

/** The error of an event behind too many others. */
export function tooMany(count: number, size: number): OverloadedError {
  return new OverloadedError(
    `${count} events (${size} bytes) already wait to be published; await each publish()`
  )
}

/** The error of an event that is larger than the engine takes. */
export function tooLarge({ size }: OutgoingEvent, title: string, room: number): PayloadTooLargeError {
  return new PayloadTooLargeError(`the largest event of ${title}`, room, size, 'bytes of an event')
}

/** The error of an event for whose address nothing stores events. */
export function nowhere(address: string): NotStoredError {
  return new NotStoredError(
    `The engine has no stream or queue that stores the event '${address}' at the moment`,
    true
  )
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

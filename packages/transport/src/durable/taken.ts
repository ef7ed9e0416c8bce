/**
 * When the sender of an event may be told that it has been taken, over protocols that answer events. The events of
 * durable handlers must be stored first.
 */
import type { IncomingMessage } from '../message.ts'
import { nextTurn } from '../next-turn.ts'

const storing = new WeakMap<IncomingMessage, Promise<void>>()

/** The event is being stored for durable handlers. @param stored rejects with the error for its sender */
export function noteStoring(message: IncomingMessage, stored: Promise<void>): void {
  storing.set(message, stored)
}

/**
 * Waits until an event has been taken that was passed to a dispatcher: until it is stored, if it has durable handlers,
 * and for a turn, in which its other handlers may refuse it.
 * @param refused the event cannot be stored
 */
export function whenTaken(
  message: IncomingMessage,
  taken: () => void,
  refused: (error: unknown) => void
): void {
  const stored = storing.get(message)
  if (stored === undefined) nextTurn(taken)
  else stored.then(() => nextTurn(taken), refused)
}

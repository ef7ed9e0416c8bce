/**
 * Measures when messages begin and end with few reads of the clock, because one read costs as much as all other
 * counting for a message. A connection often delivers several messages in one turn of the event loop, one directly
 * after the other. So the end of one message is taken as the beginning of the next.
 */

/** The time at which the previous message ended, if nothing else has run in this turn since; else 0. */
let before = 0

const forget = (): void => {
  before = 0
}

/**
 * Returns the time at which a message has begun, on the clock of `performance.now()`.
 * @param isOfConnection the message arrived in a turn of a socket, in which only the transport runs between two
 * messages
 */
export function beginning(isOfConnection: boolean): number {
  if (before !== 0 && isOfConnection) return before
  return performance.now()
}

/** Called when a message has ended in the turn in which it arrived. Returns the time of its end. */
export function endedAtOnce(): number {
  if (before === 0) queueMicrotask(forget)
  before = performance.now()
  return before
}

/**
 * Called when the handler of a message has not ended in this turn. The time that the handler has used so far must
 * not count for the next message.
 */
export const endsLater = forget

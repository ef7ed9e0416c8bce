/**
 * When messages begin and end. To read the clock costs as much as all else that is counted of a message, and messages of a
 * connection come many in a turn of the event loop, one behind the other: the end of one is the beginning of the next.
 */

/** When the message before ended, if nothing else has happened in this turn since; else 0. */
let before = 0

const forget = (): void => {
  before = 0
}

/**
 * When a message has begun, in the clock of `performance.now()`.
 * @param isOfConnection it came in a turn of a socket, where nothing runs between two messages but the transport
 */
export function beginning(isOfConnection: boolean): number {
  if (before !== 0 && isOfConnection) return before
  return performance.now()
}

/** A message has ended in the turn it came in. Gives when. */
export function endedAtOnce(): number {
  if (before === 0) queueMicrotask(forget)
  before = performance.now()
  return before
}

/** The message before has not ended: what its handler did until now is none of the next one's time. */
export const endsLater = forget

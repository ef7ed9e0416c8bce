/** Runs a handler of an event until its work has ended. */
import {
  endSettled,
  exhaust,
  type IncomingMessage,
  isStreamOfValues,
  isThenable,
  whenSettled
} from '@elysia-microservices/transport/kit'

/** The handler of an event. */
type Handler = (message: IncomingMessage) => unknown

/**
 * Calls a handler with an event. Settles with the outcome when the handler's work has ended: that of the handler, or the
 * one by which the handler has settled a stored event by hand.
 */
export function runToEnd(handler: Handler, message: IncomingMessage): void | Promise<void> {
  if (message.isStored) return runStored(handler, message)
  const result = handler(message)
  if (typeof result !== 'object' || result === null) return
  if (isThenable(result)) return whenSettled(result, ended)
  return ended(result)
}

/** Reads a stream to its end. Nobody uses the values of an event's handler, but making them is part of its work. */
function ended(result: unknown): void | Promise<void> {
  return isStreamOfValues(result) ? exhaust(result).then(() => {}) : undefined
}

function runStored(handler: Handler, message: IncomingMessage): void | Promise<void> {
  const failed = (error: unknown) => endSettled(message, [error])
  const over = (value: unknown) =>
    isStreamOfValues(value) ? exhaust(value).then(() => endSettled(message), failed) : endSettled(message)
  let result: unknown
  try {
    result = handler(message)
  } catch (error) {
    return failed(error)
  }
  return typeof result === 'object' && result !== null && isThenable(result)
    ? whenSettled(result, over, failed)
    : over(result)
}

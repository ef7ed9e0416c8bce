/** Runs a handler of an event until its work has ended. */
import {
  exhaust,
  type IncomingMessage,
  isStreamOfValues,
  isThenable,
  whenSettled
} from '@elysia-microservices/transport/kit'

/** Calls a handler with an event. Settles with the outcome when the handler's work has ended. */
export function runToEnd(
  handler: (message: IncomingMessage) => unknown,
  message: IncomingMessage
): void | Promise<void> {
  const result = handler(message)
  if (typeof result !== 'object' || result === null) return
  if (isThenable(result)) return whenSettled(result, ended)
  return ended(result)
}

/** Reads a stream to its end. Nobody uses the values of an event's handler, but making them is part of its work. */
function ended(result: unknown): void | Promise<void> {
  return isStreamOfValues(result) ? exhaust(result).then(() => {}) : undefined
}

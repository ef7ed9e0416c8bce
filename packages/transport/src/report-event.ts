/**
 * Handles events for transports that do not store events: a failure is logged, and a refusal is told to the sender where
 * the transport can do so.
 */
import type { Dispatcher } from './dispatcher.ts'
import { ErrorAnswer, EventHandlersError, isNoHandler, readFailure } from './failure.ts'
import { handlerFailed } from './handler-failed.ts'
import type { Logger } from './logger.ts'
import type { IncomingMessage } from './message.ts'
import { NO_EVENT_HANDLER } from './nest/words.ts'
import { quietLog, shown } from './quiet-log.ts'
import { isThenable, whenSettled } from './stream.ts'

/** Most log lines in 10 seconds about events without a handler, because peers choose how many such events they send. */
const MOST_UNKNOWN = 20

/** The sender of events, as far as it can be told of a refusal. */
export interface EventSender {
  /**
   * An event was refused: nobody handles it, its data or credentials are not accepted, or a handler has thrown an error
   * for its sender.
   * @param id identifies the event on its connection
   */
  eventRefused(id: number, message: IncomingMessage, error: unknown): void
}

/**
 * Passes an event to a dispatcher and logs failures. Never throws.
 * @param ended is called once, when all handlers of the event have ended
 * @param sender is told of a refusal. Default: nobody is told
 * @param id passed to the sender
 * @returns whether all handlers ended in this turn of the event loop
 */
export function reportEvent(
  dispatcher: Pick<Dispatcher, 'event'>,
  message: IncomingMessage,
  logger: Logger,
  ended: () => void,
  sender?: EventSender,
  id = 0
): boolean {
  try {
    const running: unknown = dispatcher.event(message)
    if (typeof running === 'object' && running !== null && isThenable(running)) {
      void whenSettled(running, ended, (error) => {
        failed(error, message, logger, sender, id)
        ended()
      })
      return false
    }
  } catch (error) {
    failed(error, message, logger, sender, id)
  }
  ended()
  return true
}

function failed(
  error: unknown,
  message: IncomingMessage,
  logger: Logger,
  sender: EventSender | undefined,
  id: number
): void {
  report(error, message, logger)
  const refusal = sender && refusalIn(error)
  if (refusal !== undefined) sender?.eventRefused(id, message, refusal)
}

function report(error: unknown, message: IncomingMessage, logger: Logger): void {
  if (isNoHandler(error))
    return quietLog(logger).error(
      NO_EVENT_HANDLER,
      `${NO_EVENT_HANDLER} Event pattern: ${shown(message.pattern)}`,
      undefined,
      MOST_UNKNOWN
    )
  for (const one of failuresIn(error)) {
    const failure = readFailure(one)
    if ('answer' in failure || failure.logged) logger.error(handlerFailed(message), one)
  }
}

/** The error that is meant for the sender of an event; `undefined` if there is none. */
function refusalIn(error: unknown): unknown {
  try {
    const all: readonly unknown[] = error instanceof EventHandlersError ? error.errors : [error]
    return all.find((one) => 'answer' in readFailure(one))
  } catch {
    return undefined
  }
}

/**
 * The errors to log. An `ErrorAnswer` is left out, because a dispatcher with its own rules for errors has already
 * logged it.
 */
function failuresIn(error: unknown): readonly unknown[] {
  try {
    const all: readonly unknown[] = error instanceof EventHandlersError ? error.errors : [error]
    return all.filter((one) => !isReported(one))
  } catch {
    // The error is a revoked Proxy, which throws when it is read.
    return [error]
  }
}

function isReported(error: unknown): boolean {
  try {
    return error instanceof ErrorAnswer
  } catch {
    return false
  }
}

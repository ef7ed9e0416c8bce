/** Handles events for transports that do not store them: a failure is only logged. */
import type { Dispatcher } from './dispatcher.ts'
import { PatternNotFoundError } from './errors/index.ts'
import { ErrorAnswer, readFailure } from './failure.ts'
import type { Logger } from './logger.ts'
import type { IncomingMessage } from './message.ts'
import { NO_EVENT_HANDLER } from './nest/words.ts'
import { quietLog, shown } from './quiet-log.ts'
import { isThenable, whenSettled } from './stream.ts'

/** Most lines about events without a handler in 10 s: peers choose how many there are. */
const MOST_UNKNOWN = 20

/**
 * Gives an event to a dispatcher and logs failures. Never throws.
 * @param ended is called once, when all handlers of the event have ended
 * @returns whether they ended in this turn
 */
export function reportEvent(
  dispatcher: Pick<Dispatcher, 'event'>,
  message: IncomingMessage,
  logger: Logger,
  ended: () => void
): boolean {
  const failed = (error: unknown) => {
    report(error, message, logger)
    ended()
  }
  try {
    const running: unknown = dispatcher.event(message)
    if (typeof running === 'object' && running !== null && isThenable(running)) {
      void whenSettled(running, ended, failed)
      return false
    }
    ended()
  } catch (error) {
    failed(error)
  }
  return true
}

function report(error: unknown, message: IncomingMessage, logger: Logger): void {
  // The dispatcher has its own rules for errors and has already reported this one.
  if (error instanceof ErrorAnswer) return
  if (error instanceof AggregateError) {
    for (const one of error.errors) report(one, message, logger)
  } else if (error instanceof PatternNotFoundError && error.received === undefined)
    quietLog(logger).error(
      NO_EVENT_HANDLER,
      `${NO_EVENT_HANDLER} Event pattern: ${shown(message.pattern)}`,
      undefined,
      MOST_UNKNOWN
    )
  else {
    const failure = readFailure(error)
    if ('answer' in failure || failure.logged)
      logger.error(`A handler of the event '${shown(message.pattern)}' failed`, error)
  }
}

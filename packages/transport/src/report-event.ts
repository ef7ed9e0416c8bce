/** Events on transports that do not store them: what became of one is for the log only. */
import type { Dispatcher } from './dispatcher.ts'
import { PatternNotFoundError } from './errors/index.ts'
import { ErrorAnswer, readFailure } from './failure.ts'
import type { Logger } from './logger.ts'
import type { IncomingMessage } from './message.ts'
import { NO_EVENT_HANDLER } from './nest/words.ts'
import { isThenable, whenSettled } from './stream.ts'

/**
 * Hands an event to a dispatcher and logs what fails. Never throws.
 * @param ended is called once, when all its handlers have ended
 * @returns whether they have ended already
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
  // A dispatcher with rules of its own for errors has reported it.
  if (error instanceof ErrorAnswer) return
  if (error instanceof AggregateError) {
    for (const one of error.errors) report(one, message, logger)
  } else if (error instanceof PatternNotFoundError && error.received === undefined)
    logger.error(`${NO_EVENT_HANDLER} Event pattern: ${message.pattern}`)
  else {
    const failure = readFailure(error)
    if ('answer' in failure || failure.logged)
      logger.error(`A handler of the event '${message.pattern}' failed`, error)
  }
}

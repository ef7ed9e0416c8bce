/** Events on transports that do not store them: what became of one is for the log only. */
import type { Dispatcher } from './dispatcher.ts'
import { ErrorAnswer, EventHandlersError, isNoHandler, readFailure } from './failure.ts'
import type { Logger } from './logger.ts'
import type { IncomingMessage } from './message.ts'
import { NO_EVENT_HANDLER } from './nest-words.ts'
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

function report(error: unknown, { pattern }: IncomingMessage, logger: Logger): void {
  if (isNoHandler(error)) return logger.error(`${NO_EVENT_HANDLER} Event pattern: ${pattern}`)
  for (const one of failuresIn(error)) {
    const failure = readFailure(one)
    if ('answer' in failure || failure.logged) logger.error(`A handler of the event '${pattern}' failed`, one)
  }
}

/** What is to be reported of an error: a dispatcher with rules of its own for errors has reported its `ErrorAnswer`. */
function failuresIn(error: unknown): readonly unknown[] {
  try {
    const all: readonly unknown[] = error instanceof EventHandlersError ? error.errors : [error]
    return all.filter((one) => !isReported(one))
  } catch {
    // A Proxy that was revoked.
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

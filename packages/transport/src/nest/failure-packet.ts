/** The failure of a handler as a packet of Nest's wire. */
import { isNoHandler, readFailure } from '../failure.ts'
import { handlerFailed } from '../handler-failed.ts'
import type { Logger } from '../logger.ts'
import type { IncomingMessage } from '../message.ts'
import { errorPacket, noHandlerPacket, toJson } from './packet.ts'
import { INTERNAL_ERROR } from './words.ts'

/**
 * Makes the packet that tells a caller about a handler's error. An error that callers may not see is logged instead.
 * @param id as JSON
 * @param message the message that the handler got, for the log; `undefined`: not known
 */
export function failurePacket(
  error: unknown,
  id: string,
  logger: Logger,
  message: IncomingMessage | undefined
): string {
  if (isNoHandler(error)) return noHandlerPacket(id)
  const failure = readFailure(error)
  let json: string | undefined
  if ('answer' in failure) {
    try {
      json = toJson(failure.answer)
    } catch (cause) {
      logger.error(`${handlerFailed(message)}, and its error cannot be written as JSON`, cause)
    }
  } else if (failure.logged) {
    logger.error(handlerFailed(message, error), error)
  }
  return errorPacket(json ?? JSON.stringify(INTERNAL_ERROR), id)
}

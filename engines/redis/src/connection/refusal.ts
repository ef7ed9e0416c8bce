/** Whether the server does not store an event now, or never. */
import { NotStoredError } from '@elysia-microservices/transport/kit'

/**
 * The error of an event that the server does not store now, for example because it has no memory left; `undefined`: the
 * failure has another reason.
 */
export function refusalForNow(address: string, error: Error): NotStoredError | undefined {
  if (error instanceof NotStoredError) return error
  if (error.name !== 'ReplyError' || error.message.startsWith('NOPERM')) return undefined
  return new NotStoredError(`Redis does not store the event '${address}' now: ${error.message}`, true, error)
}

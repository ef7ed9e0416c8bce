/** The error for a server that cannot be reached. */
import { ConnectionError } from '@elysia-microservices/transport/kit'

/**
 * Makes the error for an engine that cannot be reached.
 * @param title the name of the engine
 * @param where the configured address of its servers, without credentials
 * @param cause the error of the driver
 * @param advice what the user can do
 */
export function unreachable(
  title: string,
  where: string,
  cause: Error & { readonly code?: unknown },
  advice: string
): ConnectionError {
  const why = (cause.message || String(cause.code ?? cause.name)).replace(/\.$/, '')
  return new ConnectionError(`Cannot reach ${title} at ${where}: ${why}; ${advice}`, false, cause)
}

/** The reason for which a server cannot be reached that accepts connections, or whose network does not, and says nothing. */
export function unanswered(within: number): Error {
  return new Error(`it has not answered within ${within} ms`)
}

/** The text for errors and the log about a server that takes no messages. */
export function haltedBy(title: string, reason: string): string {
  return `${title} takes no messages at the moment (${reason})`
}

/** The error for a server that cannot be reached. */
import { ConnectionError } from '../errors/index.ts'

/**
 * The error of an engine that cannot be reached.
 * @param title the name of the engine
 * @param where its servers are expected; without credentials
 * @param cause as the driver has it
 * @param advice what to do
 */
export function unreachable(
  title: string,
  where: string,
  cause: Error & { readonly code?: unknown },
  advice: string
): ConnectionError {
  const why = cause.message || String(cause.code ?? cause.name)
  return new ConnectionError(`Cannot reach ${title} at ${where}: ${why}; ${advice}`, false, cause)
}

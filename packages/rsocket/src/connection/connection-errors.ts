/** Makes the errors of connections. Their messages name the address and the reason. */
import { ConnectionError, OverloadedError } from '@elysia-microservices/transport/kit'

/** Says why a connection has failed. Sockets of the system have `reasonOf`; other errors say it themselves. */
export type Reason = (cause: Error) => string

const itself: Reason = ({ message }) => message

/**
 * Makes the error of a failed attempt to connect.
 * @param where such as `tcp://localhost:4000`
 */
export function cannotConnect(
  where: string,
  cause: Error | undefined,
  mayHaveRun = false,
  reason = itself
): ConnectionError {
  const why = cause === undefined ? 'the connection was closed before it was set up' : reason(cause)
  return new ConnectionError(`Cannot connect to ${where}: ${why}`, mayHaveRun, cause)
}

/** Makes the error of a call of `size` bytes for which the send buffer, which holds `unsent` bytes, has no room. */
export function sendBufferFull(unsent: number, size: number, limit: number): OverloadedError {
  return new OverloadedError(
    `${unsent} bytes of calls wait to be sent; ${size} more would exceed what limits.sendBuffer allows (${limit})`
  )
}

/**
 * Makes the error of a lost connection.
 * @param where such as `tcp://localhost:4000`
 */
export function connectionClosed(
  where: string,
  cause: Error | undefined,
  mayHaveRun: boolean,
  reason = itself
): ConnectionError {
  const why = cause === undefined ? '' : `: ${reason(cause)}`
  // If the peer closed because it did not understand this side, it would not understand a retry either.
  const { retryable = true } = (cause ?? {}) as { readonly retryable?: boolean }
  return new ConnectionError(`The connection to ${where} was closed${why}`, mayHaveRun, cause, retryable)
}

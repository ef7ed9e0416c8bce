/** Makes the errors of connections. Their messages name the address and the reason. */
import { ConnectionError, OverloadedError } from '@elysia-microservices/transport/kit'

const IN_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by the other side',
  EPIPE: 'the other side has closed the connection',
  ENOTFOUND: 'there is no host with that name',
  EAI_AGAIN: 'the DNS server does not answer',
  EHOSTUNREACH: 'there is no route to that host',
  ENETUNREACH: 'there is no route to that network',
  ETIMEDOUT: 'the system waited too long for an answer',
  ENOENT: 'there is no such socket file',
  EACCES: 'this user has no permission to use it'
}

/** The reason for a failure as text. The code of the system is preferred, because the messages of runtimes say less. */
export function reasonOf(cause: Error & { code?: unknown }): string {
  return (typeof cause.code === 'string' && IN_WORDS[cause.code]) || cause.message
}

/**
 * Makes the error of a failed attempt to connect.
 * @param where such as `tcp://localhost:4000`
 */
export function cannotConnect(where: string, cause: Error | undefined, mayHaveRun = false): ConnectionError {
  const why = cause === undefined ? 'the connection was closed before it was set up' : reasonOf(cause)
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
  mayHaveRun: boolean
): ConnectionError {
  const why = cause === undefined ? '' : `: ${reasonOf(cause)}`
  // If the peer closed because it did not understand this side, it would not understand a retry either.
  const { retryable = true } = (cause ?? {}) as { readonly retryable?: boolean }
  return new ConnectionError(`The connection to ${where} was closed${why}`, mayHaveRun, cause, retryable)
}

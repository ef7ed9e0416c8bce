/** The errors of connections, in sentences that say where and why. */
import { ConnectionError, OverloadedError } from '@elysia-microservices/transport/kit'

const IN_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by the other side',
  EPIPE: 'the other side has closed the connection',
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'the name server does not answer',
  EHOSTUNREACH: 'there is no route to that host',
  ENETUNREACH: 'there is no route to that network',
  ETIMEDOUT: 'the system gave up waiting for it',
  ENOENT: 'there is no such socket file',
  EACCES: 'this user may not use it'
}

/** Why something failed, in words: the system's codes say more than what runtimes make of them. */
export function reasonOf(cause: Error & { code?: unknown }): string {
  return (typeof cause.code === 'string' && IN_WORDS[cause.code]) || cause.message
}

/** The error of an attempt to connect. @param where such as `tcp://localhost:4000` */
export function cannotConnect(where: string, cause: Error | undefined, mayHaveRun = false): ConnectionError {
  const why = cause === undefined ? 'the connection was closed before it was set up' : reasonOf(cause)
  return new ConnectionError(`Cannot connect to ${where}: ${why}`, mayHaveRun, cause)
}

/** The error of a call for which the send buffer has no room: with its `size`, more than `limit` would wait. */
export function sendBufferFull(unsent: number, size: number, limit: number): OverloadedError {
  return new OverloadedError(
    `${unsent} bytes of calls wait to be sent; with ${size} more, there would be more than limits.sendBuffer allows (${limit})`
  )
}

/** The error of a connection that is lost. @param where such as `tcp://localhost:4000` */
export function connectionClosed(
  where: string,
  cause: Error | undefined,
  mayHaveRun: boolean
): ConnectionError {
  const why = cause === undefined ? '' : `: ${reasonOf(cause)}`
  return new ConnectionError(`The connection to ${where} was closed${why}`, mayHaveRun, cause)
}

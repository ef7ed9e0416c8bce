/** Converts the driver's errors on connecting to errors of this library. */
import { unanswered } from '@elysia-microservices/engine'
import { ConnectionError, UnauthenticatedError } from '@elysia-microservices/transport/kit'
import { errors } from '@nats-io/transport-node'
import type { CheckedOptions } from '../options/options.ts'

type ConnectOptions = CheckedOptions['connection']

export function connectFailure({ servers, tls, timeout }: ConnectOptions, error: unknown): Error {
  const where = [servers].flat().join(', ')
  const cause = error instanceof Error ? error : new Error(String(error))
  if (
    cause instanceof errors.AuthorizationError ||
    cause instanceof errors.UserAuthenticationExpiredError ||
    cause.cause instanceof errors.AuthorizationError
  )
    return new UnauthenticatedError(
      `NATS at ${where} does not accept the credentials (${cause.message}); check username and password, token, authenticator or tls`
    )
  return new ConnectionError(
    `Cannot reach NATS at ${where}: ${reasonOf(cause, timeout)}; ${adviceOn(cause.message, tls)}`,
    false,
    cause.cause instanceof Error ? cause.cause : cause
  )
}

/** The reason of a failure in words. */
function reasonOf(cause: Error, timeout = 0): string {
  if (cause instanceof errors.TimeoutError) return unanswered(timeout).message
  // The driver's words where the server has ended the connection before it has said anything.
  return /undefined error/.test(cause.message) ? 'the server has ended the connection' : cause.message
}

/** Advice on a failure to connect. The driver describes the failure by text only. */
function adviceOn(message: string, tls: ConnectOptions['tls']): string {
  const start = 'start nats-server there, or check options.url'
  // A server that wants a client certificate reports this after the TLS handshake, and the driver does not receive
  // the report: it only sees a timeout.
  if (tls && tls.certFile === undefined && tls.cert === undefined && /timeout/i.test(message))
    return `${start}; if the server requires client certificates, give options.tls a certFile and a keyFile`
  return /certificate|tls|doesn't exist|issuer|self.signed/i.test(message)
    ? 'check options.tls and the certificate of the server'
    : start
}

/** Converts errors of JetStream and of its driver to errors of this library. */
import { ConnectionError, MicroserviceError, NotStoredError } from '@elysia-microservices/transport/kit'
import { JetStreamApiError } from '@nats-io/jetstream'
import { errors } from '@nats-io/transport-node'
import { adviceOnFull } from './full.ts'

const NO_SEQUENCE = 10_043

/** Whether an error says that a stream, consumer or message does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.apiError().code === 404
}

/** Whether an error says that the user has no right to ask JetStream for this. */
export function isForbidden(error: unknown): boolean {
  return [error, (error as Error)?.cause].some((one) => one instanceof errors.PermissionViolationError)
}

/** Whether an error says that a stream has no message with this number. */
export function isNoSequence(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.apiError().err_code === NO_SEQUENCE
}

/**
 * Whether an error says that JetStream is not available: the server was started without JetStream, or is not ready.
 */
export function isOff(error: unknown): boolean {
  return /jetstream.*not enabled|no responders/i.test(
    `${(error as Error)?.name} ${(error as Error)?.message}`
  )
}

/** Converts an error of the driver to an error of this library. */
export function readableError(error: unknown, what: string): Error {
  if (error instanceof MicroserviceError) return error
  const cause = error as Error
  if (error instanceof JetStreamApiError) {
    const { code, err_code, description: message } = error.apiError()
    if (code === 503 && /not enabled/i.test(message)) return noJetStream(what, cause)
    const advice = adviceOnFull(message)
    return new NotStoredError(
      `${what}: NATS says '${message}' (${err_code})${advice === undefined ? '' : `; ${advice}`}`,
      code >= 500 || code === 429,
      cause
    )
  }
  if (/jetstream.*not enabled|no responders|503/i.test(`${cause?.name} ${cause?.message}`))
    return noJetStream(what, cause)
  // The driver does not send a request that the server is too old for.
  const [, version] = /requires server (\d[\d.]*)/.exec(String(cause?.message)) ?? []
  if (version !== undefined)
    return new NotStoredError(
      `${what}: this server is too old for durable events; update nats-server to ${version} or later`,
      false,
      cause
    )
  return new ConnectionError(`${what}: JetStream does not answer (${cause?.message})`, false, cause)
}

function noJetStream(what: string, cause: Error): NotStoredError {
  return new NotStoredError(
    `${what}: JetStream, which stores events, is off or not ready yet; start nats-server with -js (and -sd for the folder of its files)`,
    true,
    cause
  )
}

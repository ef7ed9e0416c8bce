/** Turns errors of JetStream and of its driver into ours. */
import { ConnectionError, MicroserviceError, NotStoredError } from '@elysia-microservices/transport/kit'
import { JetStreamApiError } from '@nats-io/jetstream'
import { adviceOnFull } from './full.ts'

const NO_SEQUENCE = 10_043

/** Whether what was asked for is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.apiError().code === 404
}

/** Whether a stream has no message of that number. */
export function isNoSequence(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.apiError().err_code === NO_SEQUENCE
}

/** Whether there is no JetStream at all: a server that was started without it, or that is not ready. */
export function isOff(error: unknown): boolean {
  return /jetstream.*not enabled|no responders/i.test(
    `${(error as Error)?.name} ${(error as Error)?.message}`
  )
}

/** An error of the driver, as one of ours. */
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
  return new ConnectionError(`${what}: JetStream does not answer (${cause?.message})`, false, cause)
}

function noJetStream(what: string, cause: Error): NotStoredError {
  return new NotStoredError(
    `${what}: JetStream, which stores events, is off, or is not ready yet; start nats-server with -js (and -sd for a folder)`,
    true,
    cause
  )
}

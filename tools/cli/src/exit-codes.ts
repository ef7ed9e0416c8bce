/** The exit codes of the command line. Each kind of failure has a code of its own, for scripts. */
import { MicroserviceError } from '@elysia-microservices/transport/kit'

/** The exit codes of the process. */
export const EXIT = {
  ok: 0,
  /** The service answered with an error. */
  answer: 1,
  /** The command line is invalid, or something that it names. Nothing was sent. */
  usage: 2,
  /** There is no connection, or the connection was lost. */
  connection: 3,
  /** No answer has arrived in time. */
  timeout: 4,
  /** The pattern has no handler. */
  pattern: 5,
  /** The service is busy, or does not accept the credentials. */
  refused: 6,
  /** `health`: the service can be reached, but is not ready. */
  unhealthy: 7
} as const

const BY_CODE: Readonly<Record<string, number>> = {
  OPTION: EXIT.usage,
  PAYLOAD_TOO_LARGE: EXIT.usage,
  CONNECTION: EXIT.connection,
  PROTOCOL: EXIT.connection,
  TIMEOUT: EXIT.timeout,
  PATTERN_NOT_FOUND: EXIT.pattern,
  REJECTED: EXIT.refused,
  OVERLOADED: EXIT.refused,
  UNAUTHENTICATED: EXIT.refused
}

/** The exit code for an error. */
export function exitCodeOf(error: unknown): number {
  return (error instanceof MicroserviceError ? BY_CODE[error.code] : undefined) ?? EXIT.answer
}

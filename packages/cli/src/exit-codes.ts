/** The exit codes of the command line, for scripts: one for each kind of failure. */
import { MicroserviceError } from '@elysia-microservices/transport/kit'

/** Exit codes of the process. */
export const EXIT = {
  ok: 0,
  /** The service answered with an error. */
  answer: 1,
  /** The command line, or what it was given, is not what it must be. Nothing was sent. */
  usage: 2,
  /** There is no connection, or it was lost. */
  connection: 3,
  /** No answer in time. */
  timeout: 4,
  /** Nobody handles the pattern. */
  pattern: 5,
  /** The service is busy, or does not accept the credentials. */
  refused: 6,
  /** `health`: the service is there and not ready. */
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

/** The code of an error. */
export function exitCodeOf(error: unknown): number {
  return (error instanceof MicroserviceError ? BY_CODE[error.code] : undefined) ?? EXIT.answer
}

/** Errors of drivers: whether PostgreSQL has answered with them, or was lost. */
import { ConnectionError, MicroserviceError } from '@elysia-microservices/transport/kit'

/** The SQLSTATE of an error with which PostgreSQL has answered; `undefined`: it has not answered. */
export function answeredState(error: unknown): string | undefined {
  const { code, errno } = Object(error) as Record<string, unknown>
  const state = [code, errno].find((given) => typeof given === 'string' && /^[0-9A-Z]{5}$/.test(given)) as
    | string
    | undefined
  // 08: connections; 57P: the server shuts down.
  return state === undefined || /^(08|57P)/.test(state) || /^E[A-Z]{4}$/.test(state) ? undefined : state
}

/** A connection that is lost as a `ConnectionError`, because each driver has words of its own; other errors as they are. */
export function toldAsLost(error: unknown, mayHaveRun: boolean): unknown {
  if (error instanceof MicroserviceError || answeredState(error) !== undefined) return error
  return new ConnectionError(
    `The connection to PostgreSQL was lost: ${(error as Error).message}`,
    mayHaveRun,
    error
  )
}

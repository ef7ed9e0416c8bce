/** The errors that subscribers of `send()` get: those of Nest's TCP client, as far as Nest has the same errors. */
import {
  ConnectionError,
  PatternNotFoundError,
  RejectedError,
  RpcError,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import { INTERNAL_ERROR, NO_MESSAGE_HANDLER } from '@elysia-microservices/transport/nest'

/**
 * Makes the error that a Nest client would report. The answer of a handler becomes the value that the handler sent (`{
 * status, message }`, or the content of its `RpcException`), an unknown pattern becomes Nest's text. Errors that Nest
 * does not have (timeout, overload, lost connection) stay unchanged.
 */
export function nestErrorOf(error: Error): unknown {
  if (error instanceof PatternNotFoundError) return NO_MESSAGE_HANDLER
  if (!(error instanceof RpcError) || error instanceof RejectedError || error instanceof UnauthenticatedError)
    return error
  // RSocket peers send the internal error in another form than Nest.
  if (error.code === 'INTERNAL' && error.message === INTERNAL_ERROR.message) return { ...INTERNAL_ERROR }
  // Nest's client ignores a falsy error, so in that case the error object itself is returned.
  return error.received || error
}

/** Why no connection was made: returns the error of the system, whose `code` (`ECONNREFUSED`) users of Nest read. */
export function connectErrorOf(error: unknown): unknown {
  if (!(error instanceof ConnectionError)) return error
  const { cause } = error
  return cause instanceof Error && 'code' in cause ? cause : error
}

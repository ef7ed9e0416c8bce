/** What the subscriber of `send()` gets of an error: what Nest's TCP client gives, as far as Nest knows it. */
import {
  ConnectionError,
  INTERNAL_ERROR,
  NO_MESSAGE_HANDLER,
  PatternNotFoundError,
  RejectedError,
  RpcError,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'

/**
 * An answer of a handler as the bare value it sent (`{ status, message }`, or what its `RpcException` carried),
 * an unknown pattern as Nest's text. Errors that Nest has no word for (timeout, overload, lost connection) stay
 * the `Error`s they are.
 */
export function nestErrorOf(error: Error): unknown {
  if (error instanceof PatternNotFoundError) return NO_MESSAGE_HANDLER
  if (!(error instanceof RpcError) || error instanceof RejectedError || error instanceof UnauthenticatedError)
    return error
  // What RSocket peers that are not Nest say for it has another shape.
  if (error.code === 'INTERNAL' && error.message === INTERNAL_ERROR.message) return { ...INTERNAL_ERROR }
  // Nest's client takes a falsy error for none; then the error itself must do.
  return error.received || error
}

/** Why no connection was made: the system's error, whose `code` (`ECONNREFUSED`) Nest users look at. */
export function connectErrorOf(error: unknown): unknown {
  if (!(error instanceof ConnectionError)) return error
  const { cause } = error
  return cause instanceof Error && 'code' in cause ? cause : error
}

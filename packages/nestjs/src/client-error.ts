/** The errors that subscribers of `send()` get: as from Nest's TCP client, where Nest has a word for them. */
import {
  ConnectionError,
  PatternNotFoundError,
  RejectedError,
  RpcError,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import { INTERNAL_ERROR, NO_MESSAGE_HANDLER } from '@elysia-microservices/transport/nest'

/**
 * An answer of a handler as the bare value it sent (`{ status, message }`, or what its `RpcException` carried),
 * an unknown pattern as Nest's text. Errors that Nest has no word for (timeout, overload, lost connection) stay
 * the `Error`s they are.
 */
export function nestErrorOf(error: Error): unknown {
  if (error instanceof PatternNotFoundError) return NO_MESSAGE_HANDLER
  if (!(error instanceof RpcError) || error instanceof RejectedError || error instanceof UnauthenticatedError)
    return error
  // RSocket peers say it in another shape than Nest.
  if (error.code === 'INTERNAL' && error.message === INTERNAL_ERROR.message) return { ...INTERNAL_ERROR }
  // Nest's client takes a falsy error for none, so then the error itself is given.
  return error.received || error
}

/** Why no connection was made: the system's error, whose `code` (`ECONNREFUSED`) Nest users look at. */
export function connectErrorOf(error: unknown): unknown {
  if (!(error instanceof ConnectionError)) return error
  const { cause } = error
  return cause instanceof Error && 'code' in cause ? cause : error
}

/** The errors for connections that cannot be established. */
import { unreachable } from '@elysia-microservices/engine'
import { ConnectionError, UnauthenticatedError } from '@elysia-microservices/transport/kit'

/** Reason codes of MQTT 5, and of older servers, that mean a refusal of the credentials. */
const REFUSED = new Set<unknown>([4, 5, 134, 135])
const OTHER_VERSION = new Set<unknown>([1, 132])

/**
 * The error for a failed connection, with advice.
 * @param where the address of the server, without credentials
 */
export function connectFailure(where: string, cause: Error & { code?: unknown }): Error {
  if (REFUSED.has(cause.code))
    return new UnauthenticatedError(
      `MQTT at ${where} does not accept the credentials (${cause.message}); check username and password`
    )
  if (OTHER_VERSION.has(cause.code))
    return new ConnectionError(
      `The server at ${where} does not speak MQTT 5 (${cause.message}); use mosquitto 2, EMQX 5 or HiveMQ 4, or later ones`,
      false,
      cause
    )
  return unreachable('MQTT', where, cause, 'start mosquitto there, or check options.url')
}

/** The errors for connections that cannot be established. */
import { unreachable } from '@elysia-microservices/engine'
import { ConnectionError, UnauthenticatedError } from '@elysia-microservices/transport/kit'

/**
 * The error for a failed connection, with advice.
 * @param where the address of the server, without credentials
 */
export function connectFailure(where: string, cause: Error): Error {
  if (/ACCESS.REFUSED/.test(cause.message))
    return new UnauthenticatedError(
      `RabbitMQ at ${where} does not accept the credentials (${cause.message}); check user and password in options.url. The user guest may only connect from the server's own machine`
    )
  // The driver's texts for a user who may not use the virtual host.
  if (/NOT.ALLOWED|Expected ConnectionOpenOk/.test(cause.message))
    return new ConnectionError(
      `RabbitMQ at ${where} does not let this user into the virtual host (${cause.message}); create the virtual host by 'rabbitmqctl add_vhost', and give the user permissions on it`,
      false,
      cause
    )
  return unreachable('RabbitMQ', where, cause, 'start rabbitmq-server there, or check options.url')
}

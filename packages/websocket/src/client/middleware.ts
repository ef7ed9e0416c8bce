/** Middleware of a page's client. A page that does not import it does not load it. */
import {
  type Middleware,
  OptionError,
  type SentMessage,
  wrapCaller
} from '@elysia-microservices/transport/kit'
import type { WrapCaller } from './connect.ts'

/**
 * Wraps all calls of a client, for its option `wrap`: to count or trace them, or to add headers. The first one is
 * outermost.
 * @throws {OptionError} a middleware is not a function
 * @example
 * ```ts
 * import { connect, middleware } from '@elysia-microservices/websocket/client'
 *
 * const client = connect({
 *   wrap: middleware((next) => (call) =>
 *     next(call.withHeaders({ ...call.headers, 'x-request-id': crypto.randomUUID() }))
 *   )
 * })
 * ```
 */
export function middleware(...all: readonly Middleware<SentMessage>[]): WrapCaller {
  for (const [index, one] of all.entries())
    if (typeof one !== 'function')
      throw OptionError.expected(`middleware[${index}]`, 'a function, (next) => (call) => next(call)', one)
  return (caller) => wrapCaller(caller, all, 'websocket')
}

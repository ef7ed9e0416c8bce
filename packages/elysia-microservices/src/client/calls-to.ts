/** `callsTo()`: a handler calls the other end of its connection. */
import { type CodecName, OptionError, type Peer } from '@elysia-microservices/transport/kit'
import { Calls } from './calls.ts'
import type { CallsTo, UntypedCalls } from './client-types.ts'

/**
 * The calls of a client, to the peer of a message: over RSocket a handler can call the client that called it, or any
 * client whose peer it has kept. The client answers with the service of its option `service`; `callsTo<typeof
 * service>(peer)` has the types of that service's patterns. The connection remains the peer's, so there is no `close`.
 * @throws {OptionError} the peer cannot be called: the message came over an engine, over Nest's wire or by `memory()`
 */
export function callsTo(peer: Peer | undefined): UntypedCalls
export function callsTo<Service, Codec extends CodecName = 'json'>(
  peer: Peer | undefined
): CallsTo<Service, Codec>
export function callsTo(peer: Peer | undefined): object {
  const caller = peer?.caller
  if (caller === undefined)
    throw new OptionError(
      'The argument of callsTo()',
      'The argument of callsTo() must be the peer of a message that came over RSocket; no calls go back over an engine, over the wire of Nest or by memory()'
    )
  const publish = () =>
    Promise.reject(new OptionError('publish', 'A peer stores no events: emit() sends one'))
  return new Calls(caller, publish)
}

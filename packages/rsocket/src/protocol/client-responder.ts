/**
 * The answering side of a client, for servers that call their clients. It is separate, because a client's bundle
 * without it is a quarter smaller.
 */
import type { Dispatcher } from '@elysia-microservices/transport/kit'
import { NO_LIMITS } from '../limits/server-limits.ts'
import { MimeType } from './mime-type.ts'
import type { NewResponder } from './options.ts'
import { MetadataReader } from './request-metadata.ts'
import { RSocketResponder } from './responder.ts'

/**
 * Answers a server's requests with a dispatcher, without limits, because the client has chosen its server.
 * @param transport the name of the transport, for messages
 */
export function clientResponder(transport: string, dispatcher: Dispatcher): NewResponder {
  return (connection) =>
    new RSocketResponder({
      ...connection,
      transport,
      dispatcher,
      peer: undefined,
      metadata: new MetadataReader(MimeType.COMPOSITE_METADATA),
      authenticate: undefined,
      limits: NO_LIMITS,
      gate: undefined,
      tellsRefusals: true
    })
}

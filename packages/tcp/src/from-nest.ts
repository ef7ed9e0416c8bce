/** The transport that options of Nest's TCP transport stand for. */
import type { NestEnd } from '@elysia-microservices/transport/nest'
import { tcpFromNest } from './options/nest-options.ts'
import { tcp } from './tcp.ts'

/**
 * Makes the transport from the options of Nest's. As there, the port is 3000 by default.
 * @throws {OptionError} an option has no counterpart here
 */
export function fromNest(given: object | undefined): NestEnd {
  const { options, ...beside } = tcpFromNest(given)
  return { ...beside, transport: tcp(options) }
}

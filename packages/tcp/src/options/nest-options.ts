/** How the options of Nest's TCP transport are answered. */
import { type FromNest, fromNest, NEST_SHARED, type NestTable } from '@elysia-microservices/transport/nest'
import { CLIENT_OPTION_NAMES, type TcpClientOptions } from './client-options.ts'
import { SERVER_OPTION_NAMES, type TcpServerOptions } from './server-options.ts'

const ONCE = 'the start reports that the port is taken; call listen() again later'

/** The options of Nest's TCP transport, service and client. */
export const TCP_NEST_OPTIONS = {
  ...NEST_SHARED,
  host: { ours: 'host' },
  port: { ours: 'port' },
  tlsOptions: { ours: 'tls' },
  maxBufferSize: { ours: 'limits.receiveBuffer' },
  maxSendBufferSize: { ours: 'limits.sendBuffer', convert: noLimit },
  incompleteMessageTimeout: { ours: 'limits.incompleteMessage', convert: noLimit },
  retryAttempts: { instead: ONCE },
  retryDelay: { instead: ONCE },
  socketClass: { instead: "the sockets are the runtime's own" }
} as const satisfies NestTable

/** @throws {OptionError} an option has no counterpart */
export function tcpFromNest(
  given: object | undefined
): Omit<FromNest, 'transport'> & { readonly options: TcpServerOptions & TcpClientOptions } {
  const own = [...SERVER_OPTION_NAMES.own, ...CLIENT_OPTION_NAMES.own]
  const { transport, ...beside } = fromNest(TCP_NEST_OPTIONS, given, own)
  return { ...beside, options: { port: 3_000, ...transport } }
}

/** In Nest, 0 means no limit. */
function noLimit(value: unknown): unknown {
  return String(value) === '0' ? false : value
}

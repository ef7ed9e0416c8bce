/** The exports for building on parts of TCP: for other sockets, benchmarks, simulations and tests. */
export {
  Balancer,
  type Candidate,
  isEndpointFailure,
  RESILIENCE_DEFAULTS,
  resilienceOptions
} from '@elysia-microservices/rsocket/pool'
export type { Socket, SocketListener } from '@elysia-microservices/rsocket/session'
export { type FailedCall, RetryPolicy } from '@elysia-microservices/transport/kit'
export { TcpClient } from './client/client.ts'
export { systemResolver } from './client/system-resolver.ts'
export { type CheckedClientOptions, clientOptions, type TcpClientOptions } from './options/client-options.ts'
export { TCP_NEST_OPTIONS } from './options/nest-options.ts'
export { clientTls, type Source } from './options/security-options.ts'
export { type CheckedServerOptions, serverOptions, type TcpServerOptions } from './options/server-options.ts'
export { Listener } from './server/listener.ts'
export { TcpServer } from './server/server.ts'
export { TcpSharing } from './server/sharing.ts'
export { bunSockets } from './socket/bun.ts'
export { nativeSockets } from './socket/index.ts'
export type {
  AcceptSocket,
  ConnectAddress,
  ListenAddress,
  ListeningSocket,
  SocketAddress,
  SocketRuntime
} from './socket/socket.ts'
export { shortForm } from './tcp.ts'

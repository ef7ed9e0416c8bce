/** The exports for building on parts of TCP: other sockets, measuring, simulating, tests. */
export { Balancer, type Candidate } from './balance/balancer.ts'
export { TcpClient } from './client/client.ts'
export { type FailedCall, isEndpointFailure, RetryPolicy } from './client/retry-policy.ts'
export { RESILIENCE_DEFAULTS, resilienceOptions } from './options/resilience-options.ts'
export { TcpServer } from './server/server.ts'
export { bunSockets } from './socket/bun.ts'
export { nativeSockets } from './socket/index.ts'
export type {
  AcceptSocket,
  ConnectAddress,
  ListenAddress,
  ListeningSocket,
  Socket,
  SocketAddress,
  SocketListener,
  SocketRuntime
} from './socket/socket.ts'
export { shortForm } from './tcp.ts'

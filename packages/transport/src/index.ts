/** The public interface of the transport. What is not listed here does not exist for users. */

// For other packages and for those who write a transport or a dispatcher
export { backoffDelay } from './balance/backoff.ts'
// For users
export type {
  Caller,
  CallOptions,
  CallReceiver,
  HandledMessage,
  StreamCall,
  StreamOptions
} from './call.ts'
export type { ClientEvent, ClientListener, ClientStatus } from './client-event.ts'
export type { Headers } from './dispatch.ts'
export { type Connection, type Dispatcher, IncomingMessage, NO_HANDLER } from './dispatch.ts'
export {
  CanceledError,
  ConnectionError,
  ListenError,
  MicroserviceError,
  PatternNotFoundError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError,
  RpcError,
  type RpcErrorInit,
  TimeoutError,
  TransportError,
  ValidationError,
  WorkerError
} from './errors.ts'
export { ErrorAnswer, readFailure } from './failure.ts'
export type { AdaptiveConcurrencyOptions } from './limits/adaptive-concurrency.ts'
export type { Logger } from './logger.ts'
export { consoleLogger } from './logger.ts'
export type { Pattern } from './pattern.ts'
export { routeOf } from './pattern.ts'
export { NO_MESSAGE_HANDLER } from './protocol/nest/packet.ts'
export type { Credentials } from './protocol/rsocket/composite-metadata.ts'
export type { Authenticate, AuthenticationRequest } from './protocol/rsocket/options.ts'
export type { ResumeOptions } from './protocol/rsocket/resume.ts'
export { type Cancel, consume, isStream, isThenable, type ResultSink } from './result.ts'
export { bunSockets } from './socket/bun.ts'
export { nativeSockets } from './socket/index.ts'
export { nodeSockets } from './socket/node.ts'
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
export type {
  DistinguishedName,
  PeerCertificate,
  Pem,
  TlsClientOptions,
  TlsOptions,
  TlsServerOptions
} from './socket/tls.ts'
export { TlsFailure, type TlsFailureCode } from './socket/tls-failure.ts'
export { TcpClient } from './tcp/client.ts'
export type { TcpClientOptions, TcpOptions } from './tcp/options.ts'
export type {
  EjectOptions,
  ReconnectOptions,
  ResilienceOptions,
  RetryBudget,
  RetryOptions
} from './tcp/resilience-options.ts'
export type { Source } from './tcp/security-options.ts'
export { TcpServer } from './tcp/server.ts'
export type { TcpServerOptions } from './tcp/server-options.ts'
export type { Gauge, ServerStats } from './tcp/server-stats.ts'
export type { ClientTransport, ServerTransport, StopOptions } from './transport.ts'

/** The exports for users of TCP. */
export type {
  AdaptiveConcurrencyOptions,
  AskCredentials,
  Authenticate,
  AuthenticationRequest,
  Credentials,
  KeepaliveOptions,
  ResumeOptions,
  RSocketClientOptions,
  RSocketServerOptions
} from '@elysia-microservices/rsocket'
export type {
  EjectOptions,
  ReconnectOptions,
  ResilienceOptions,
  RetryBudget,
  RetryOptions
} from '@elysia-microservices/rsocket/pool'
export { fromNest } from './from-nest.ts'
export type { TcpClientOptions } from './options/client-options.ts'
export type { ClientLimits, ConnectionLimits, ServerLimitOptions } from './options/limits.ts'
export type { Source } from './options/security-options.ts'
export type { TcpServerOptions } from './options/server-options.ts'
export type { TcpServerStats } from './server/server-stats.ts'
export type { Pem, TlsClientOptions, TlsOptions, TlsServerOptions } from './socket/tls.ts'
export { TlsFailure, type TlsFailureCode } from './socket/tls-failure.ts'
export { type TcpTransport, tcp } from './tcp.ts'

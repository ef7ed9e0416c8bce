/** The exports for users of TCP. */
export type { AdaptiveConcurrencyOptions } from './limits/adaptive-concurrency.ts'
export type { TcpClientOptions } from './options/client-options.ts'
export type { ConnectionLimits, ServerLimitOptions } from './options/limits.ts'
export type {
  EjectOptions,
  ReconnectOptions,
  ResilienceOptions,
  RetryBudget,
  RetryOptions
} from './options/resilience-options.ts'
export type {
  KeepaliveOptions,
  RSocketClientOptions,
  RSocketServerOptions
} from './options/rsocket-options.ts'
export type { Source } from './options/security-options.ts'
export type { TcpServerOptions } from './options/server-options.ts'
export type { Authenticate, AuthenticationRequest } from './rsocket/authenticate.ts'
export type { Credentials } from './rsocket/composite-metadata.ts'
export type { ResumeOptions } from './rsocket/resume.ts'
export type { TcpServerStats } from './server/server-stats.ts'
export type { Pem, TlsClientOptions, TlsOptions, TlsServerOptions } from './socket/tls.ts'
export { TlsFailure, type TlsFailureCode } from './socket/tls-failure.ts'
export { type TcpTransport, tcp } from './tcp.ts'

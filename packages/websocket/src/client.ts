/** The public interface for pages and other clients. Users cannot import anything that is not listed here. */
export type { AskCredentials, Credentials, ResumeOptions } from '@elysia-microservices/rsocket'
export {
  type CallOptions,
  CanceledError,
  type ClientStatus,
  ConnectionError,
  type ConnectionEvent,
  type ConnectionListener,
  type EmitOptions,
  isError,
  LocalError,
  type Logger,
  MicroserviceError,
  type Middleware,
  OptionError,
  type Outcome,
  OverloadedError,
  type Pattern,
  PatternNotFoundError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError,
  RpcError,
  type SentMessage,
  TimeoutError,
  UnauthenticatedError,
  ValidationError,
  type ValidationIssue
} from '@elysia-microservices/transport'
export type { ErrorOf } from 'elysia-microservices/client'
export {
  connect,
  type UntypedWebClient,
  type WebClientOf,
  type WebSocketClientOptions,
  type WrapCaller
} from './client/connect.ts'
export { middleware } from './client/middleware.ts'

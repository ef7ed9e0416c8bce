/** The public interface for pages and other clients. What is not listed here does not exist for users. */
export type { AskCredentials, Credentials, ResumeOptions } from '@elysia-microservices/rsocket'
export {
  type CallOptions,
  CanceledError,
  type ClientEvent,
  type ClientListener,
  type ClientStatus,
  ConnectionError,
  type EmitOptions,
  isError,
  LocalError,
  type Logger,
  MicroserviceError,
  OptionError,
  OverloadedError,
  type Pattern,
  PatternNotFoundError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError,
  RpcError,
  TimeoutError,
  UnauthenticatedError,
  ValidationError,
  type ValidationIssue
} from '@elysia-microservices/transport'
export type { ErrorOf, Outcome } from 'elysia-microservices/client'
export {
  connect,
  type UntypedWebClient,
  type WebClientOf,
  type WebSocketClientOptions
} from './client/connect.ts'

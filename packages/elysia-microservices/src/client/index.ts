/** The public interface of the client. What is not listed here does not exist for users. */
export {
  type Around,
  type AroundAny,
  type CallOptions,
  CanceledError,
  type ClientEvent,
  type ClientListener,
  type ClientStatus,
  ConnectionError,
  type EmitOptions,
  type HandledMessage,
  LocalError,
  type Logger,
  MicroserviceError,
  memory,
  OptionError,
  OverloadedError,
  type Pattern,
  PatternNotFoundError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError,
  RpcError,
  type SentMessage,
  TimeoutError,
  type Transport,
  tap,
  UnauthenticatedError,
  ValidationError
} from '@elysia-microservices/transport'
export type { Client, ClientOf, UntypedClient } from './client-types.ts'
export { type ClientOptions, type ConnectOptions, connect } from './connect.ts'

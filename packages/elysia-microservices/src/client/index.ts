/** The public interface of the client. What is not listed here does not exist for users. */
export {
  type CallOptions,
  CanceledError,
  type ClientEvent,
  type ClientListener,
  type ClientStatus,
  ConnectionError,
  type EjectOptions,
  type HandledMessage,
  MicroserviceError,
  type Pattern,
  PatternNotFoundError,
  PayloadTooLargeError,
  ProtocolError,
  type ReconnectOptions,
  RejectedError,
  type RetryBudget,
  type RetryOptions,
  RpcError,
  TimeoutError,
  TransportError,
  ValidationError
} from '@elysia-microservices/transport'
export type { Client, ClientOf, EmitOptions, UntypedClient } from './client-types.ts'
export { type ConnectOptions, connect } from './connect.ts'

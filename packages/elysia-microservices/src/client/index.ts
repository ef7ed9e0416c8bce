/** The public interface of the client. What is not listed here does not exist for users. */
export {
  type CallOptions,
  CanceledError,
  ConnectionError,
  MicroserviceError,
  type Pattern,
  PatternNotFoundError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError,
  RpcError,
  TimeoutError,
  TransportError,
  ValidationError
} from '@elysia-microservices/transport'
export type { Client, ClientOf, EmitOptions, UntypedClient } from './client-types.ts'
export { type ConnectOptions, connect } from './connect.ts'

/** The public interface of the plugin. What is not listed here does not exist for users. */
export {
  type Authenticate,
  type AuthenticationRequest,
  CanceledError,
  ConnectionError,
  type Credentials,
  type Headers,
  ListenError,
  type Logger,
  MicroserviceError,
  type Pattern,
  PatternNotFoundError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError,
  type ResumeOptions,
  RpcError,
  type RpcErrorInit,
  TimeoutError,
  TransportError,
  ValidationError
} from '@elysia-microservices/transport'
export { RpcContext } from './controller/context.ts'
export type { Controller } from './controller/reader.ts'
export { Ctx, EventPattern, MessagePattern, Payload } from './decorators.ts'
export { type Microservice, microservice } from './microservice.ts'
export type { ListenOptions, MicroserviceOptions } from './options.ts'
export type {
  EventHandler,
  EventTypes,
  Message,
  MessageHandler,
  MessageType,
  MessageTypes,
  Patterns,
  ValueOf
} from './service-types.ts'

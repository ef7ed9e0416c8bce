/**
 * The exports for writing a service. Users cannot import anything that is not listed here. Descriptions and figures,
 * Nest's decorators, the parts for tests, and helper types have entries of their own.
 */
export {
  type AnswerHeaders,
  type AnswerSet,
  type AnyStore,
  CanceledError,
  ConnectionError,
  type DeclaredError,
  type Delivery,
  Discard,
  type DurableOptions,
  isError,
  ListenError,
  LocalError,
  type Logger,
  type MessageHeaders,
  MicroserviceError,
  type Middleware,
  memory,
  OptionError,
  OverloadedError,
  type Pattern,
  PatternNotFoundError,
  PayloadTooLargeError,
  type Peer,
  ProtocolError,
  type ReceivedMessage,
  RejectedError,
  RetryLater,
  RpcError,
  TimeoutError,
  type Transport,
  tap,
  UnauthenticatedError,
  ValidationError,
  WorkerError
} from '@elysia-microservices/transport'
export type { MessageEnd } from './hooks/after-response.ts'
export { ResponseValidationError } from './schema/response-violation.ts'
export type { ServicePart } from './service/life.ts'
export { microservice } from './service/microservice.ts'
export type { MicroserviceOptions, ServiceOptions } from './service/options.ts'
export type { AnyMicroservice, Microservice } from './service/service.ts'
export type { MessageBehind } from './types/behind.ts'
export type { EventOf, Implements } from './types/contract.ts'
// The compiler names helper types in the declarations of services that users export. It finds the names only in entries
// that the program reads, so this line makes every program read that entry.
export type {} from './types/index.ts'
export type { Message } from './types/message.ts'

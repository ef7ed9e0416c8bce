/** The public interface of the plugin. Users cannot import anything that is not listed here. */
export {
  type Address,
  type Around,
  type AroundAny,
  type AroundMessage,
  type Caller,
  CanceledError,
  ConnectionError,
  type DeclaredError,
  type Delivery,
  Discard,
  type DurableOptions,
  type DurationBuckets,
  type Gauge,
  type Handle,
  type HandlerFigures,
  type Headers,
  isError,
  ListenError,
  LocalError,
  type Logger,
  ManualClock,
  MicroserviceError,
  memory,
  OptionError,
  OverloadedError,
  type Pattern,
  PatternNotFoundError,
  PayloadTooLargeError,
  type Peer,
  type PeerCertificate,
  ProtocolError,
  type ReceivedMessage,
  RejectedError,
  type ResultEnd,
  type ResultWatcher,
  RetryLater,
  RpcError,
  type RpcErrorInit,
  type ServiceStatus,
  TimeoutError,
  type Transport,
  type TransportStats,
  tap,
  UnauthenticatedError,
  ValidationError,
  type ValidationIssue,
  WorkerError
} from '@elysia-microservices/transport'
export type { ShutdownSignal, WorkerFigures } from '@elysia-microservices/workers'
export type { ChaosOptions, ChaosRule } from './chaos/options.ts'
export { RpcContext } from './controller/context.ts'
export { type ContractDecorators, decoratorsOf } from './controller/contract-decorators.ts'
export { Ctx, EventPattern, MessagePattern, Payload } from './controller/decorators.ts'
export type { Controller } from './controller/entry.ts'
export type { NestOptions } from './controller/nest-app.ts'
export { type AsyncApiDocument, asyncApi } from './description/asyncapi.ts'
export { type AsyncApiRouteOptions, asyncApiRoute } from './description/asyncapi-route.ts'
export type {
  DescribeOptions,
  HandlerDescription,
  PartFigures,
  PatternDescription,
  ServiceDescription
} from './description/description.ts'
export type { JsonSchema } from './description/json-schema.ts'
export type { MessageEnd } from './hooks/after-response.ts'
export { ResponseValidationError } from './schema/response-violation.ts'
export type { ServicePart } from './service/life.ts'
export { microservice } from './service/microservice.ts'
export type { MicroserviceOptions, ServiceOptions } from './service/options.ts'
export type { AnyMicroservice, Microservice } from './service/service.ts'
export type { MessageBehind } from './types/behind.ts'
export type { Event, Implements } from './types/contract.ts'
// These exports let the compiler name the types in the declarations of a service, even if the user never imports
// them.
export type { EventHandler, MessageHandler } from './types/index.ts'
export type { Message } from './types/message.ts'

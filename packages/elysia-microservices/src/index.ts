/**
 * The public interface of the plugin. What is not listed here does not exist for users. The types of scopes
 * are listed because the compiler names them in the declarations of a service that is exported.
 */
export {
  type AdaptiveConcurrencyOptions,
  type Authenticate,
  type AuthenticationRequest,
  CanceledError,
  ConnectionError,
  type Credentials,
  type Gauge,
  type Headers,
  ListenError,
  type Logger,
  MicroserviceError,
  type Pattern,
  PatternNotFoundError,
  PayloadTooLargeError,
  type PeerCertificate,
  ProtocolError,
  RejectedError,
  type ResumeOptions,
  RpcError,
  type RpcErrorInit,
  type ServerStats,
  TimeoutError,
  type TlsClientOptions,
  TlsFailure,
  type TlsFailureCode,
  type TlsServerOptions,
  TransportError,
  ValidationError,
  WorkerError
} from '@elysia-microservices/transport'
export type { ChaosOptions, ChaosRule } from './chaos/options.ts'
export { RpcContext } from './controller/context.ts'
export type {
  Filter,
  Given,
  Guard,
  Interceptor,
  Pipe,
  PipeMetadata,
  PreRequestHook
} from './controller/enhancer.ts'
export type { Controller } from './controller/entry.ts'
export type { AnyClass, RpcExecutionContext } from './controller/execution-context.ts'
export type { RpcExceptionClass } from './controller/filters.ts'
export type { Resolve } from './controller/instances.ts'
export type { NestApp, NestOptions } from './controller/nest-app.ts'
export { Ctx, EventPattern, MessagePattern, Payload } from './decorators.ts'
export type { HookScope } from './hooks/hook.ts'
export type { ErrorClass } from './hooks/known-errors.ts'

export { microservice } from './microservice.ts'
export type { ListenOptions, MicroserviceOptions } from './options.ts'
export type { HandlerPattern, PatternParams, Patterns } from './router/handler-pattern.ts'
export { ResponseValidationError } from './schema/message-schema.ts'
export type { AnswerOf, AnySchema, InputOf, OutputOf, ReturnOf } from './schema/schema-types.ts'
export type { StandardSchema } from './schema/standard-schema.ts'
export type { Microservice } from './service.ts'
export type { Added, ErrorsOf, Schemas } from './types/hooks.ts'
export type { MacroDefinition, Macros, MacroTypes } from './types/macro.ts'
export type { Message } from './types/message.ts'
export type { NameOf, ObjectName, Prefixed } from './types/pattern.ts'
export type {
  ContextOf,
  Empty,
  EmptyScope,
  NoSchemas,
  Or,
  SchemaTypes,
  ScopeTypes,
  Widened,
  With,
  WithService
} from './types/scope.ts'
export type {
  Answers,
  AnswersOf,
  AnyStream,
  EventHandler,
  EventsOf,
  EventType,
  EventTypeOf,
  MessageHandler,
  MessagesOf,
  MessageType,
  MessageTypeOf,
  NoAnswers,
  PrefixedAnswers,
  ScopeOf,
  StreamOf,
  Typed,
  ValueOf
} from './types/service.ts'
export type {
  Guarded,
  GuardSchemas,
  MacroFields,
  MacroType,
  MacroValues,
  SchemasWith
} from './types/used-macros.ts'
export type { Role } from './workers/role.ts'
export type { WorkerFigures } from './workers/supervisor.ts'

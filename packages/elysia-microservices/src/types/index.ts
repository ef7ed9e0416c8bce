/**
 * Helper types of the type of a service. The compiler names them in the declarations of a service that a user
 * exports; users need not import them.
 */

export type {
  AnyMiddleware,
  Carrying,
  Handle,
  MemoryTransport,
  MiddlewareMessage,
  PeerCertificate,
  ResultEnd,
  ResultWatcher,
  RpcErrorInit,
  ValidationIssue
} from '@elysia-microservices/transport'
export type { ShutdownSignal } from '@elysia-microservices/workers'
export type { HookScope } from '../hooks/hook.ts'
export type { ErrorClass } from '../hooks/known-errors.ts'
export type { HandlerPattern, PatternParams, Patterns } from '../router/handler-pattern.ts'
export type { ErrorDeclaration, ErrorDeclarations } from '../schema/declared-errors.ts'
export type { AnswerOf, AnySchema, InputOf, OutputOf, ReturnOf } from '../schema/schema-types.ts'
export type { StandardSchema } from '../schema/standard-schema.ts'
export type { Arriving, NotCarried, Sending, WayOf } from './arriving.ts'
export type {
  AnswersOf,
  EventsOf,
  MessagesOf,
  MistakenAnswers,
  ScopeIn,
  ScopeOf,
  UnexposedOf
} from './carried.ts'
export type { DeclaredIn, Over } from './declared.ts'
export type {
  ErrorsFor,
  ErrorsIn,
  ErrorType,
  FailuresOf,
  MakeError,
  Throwable,
  Throws
} from './errors.ts'
export type { Added, ErrorsOf, Schemas } from './hooks.ts'
export type { AnyErrors, AnyMacro, KnownMembers, MacroDefinition, Macros, MacroTypes } from './macro.ts'
export type { AsName, AsPattern, NameOf, ObjectName, Prefixed } from './pattern.ts'
export type {
  AsStandalone,
  Behind,
  BehindGuards,
  Beside,
  Complete,
  ContextOf,
  Empty,
  EmptyScope,
  ErrorsAbove,
  Grouped,
  GuardsBehind,
  GuardsOf,
  GuardTypes,
  ModelName,
  ModelOf,
  NoErrorsAbove,
  NoGuards,
  NoReach,
  NoSchemas,
  NoStandalone,
  Or,
  Reached,
  ReachTypes,
  SchemasOver,
  SchemaTypes,
  ScopeTypes,
  Sides,
  StandaloneTypes,
  Together,
  Usable,
  Widened,
  WidenedErrors,
  WidenedGuards,
  With,
  WithApp,
  WithErrors,
  WithGuards,
  WithHooksOf,
  WithMacros,
  WithModels,
  WithService
} from './scope.ts'
export type {
  Answers,
  AnyGuarding,
  AnyStream,
  Chosen,
  EventHandler,
  EventType,
  EventTypeOf,
  Guarding,
  MessageHandler,
  MessageType,
  MessageTypeOf,
  NoAnswers,
  PrefixedAnswers,
  StreamOf,
  Typed,
  ValueOf
} from './service.ts'
export type {
  Guarded,
  GuardKind,
  GuardReach,
  GuardsWith,
  MacroErrors,
  MacroFields,
  MacroType,
  MacroValues,
  SchemasGiven,
  StandaloneWith
} from './used-macros.ts'

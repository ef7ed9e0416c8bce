/** The exports for users of any transport. `kit.ts` has the exports for writing a transport. */

export type { AnswerHeaders, AnswerSet, SettableHeaders } from './answer-headers.ts'
export type {
  Caller,
  CallOptions,
  CallReceiver,
  EmitOptions,
  HandledMessage,
  StreamCall,
  StreamOptions
} from './call.ts'
export type { CallDefaults } from './calls/call-defaults.ts'
export type { CloseOptions } from './calls/drained.ts'
export type { Outcome } from './calls/outcome.ts'
export type { Carrying, CodecName } from './codec/codecs.ts'
export type { ClientStatus, ConnectionEvent, ConnectionListener } from './connection-event.ts'
export type { BacklogEvent, ListBacklogOptions } from './durable/backlog.ts'
export { type Clock, ManualClock, systemClock } from './durable/clock.ts'
export type { EventTime, FutureEvents, ListWaitingOptions, WaitingEvent } from './durable/future.ts'
export type { DurableGroup } from './durable/group.ts'
export type { DurableOptions, DurableRetryOptions, DurableStart, Recurrence } from './durable/options.ts'
export type {
  DeadLetter,
  DeadLetters,
  DurableCaller,
  DurableFigures,
  ListDeadLettersOptions,
  Published,
  PublishOptions
} from './durable/published.ts'
export {
  CanceledError,
  ConnectionError,
  type DeclaredError,
  Discard,
  EventRefusedError,
  isError,
  ListenError,
  LocalError,
  MicroserviceError,
  NotStoredError,
  OptionError,
  OverloadedError,
  PatternNotFoundError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError,
  RetryLater,
  RpcError,
  type RpcErrorInit,
  TimeoutError,
  UnauthenticatedError,
  ValidationError,
  type ValidationIssue,
  WorkerError
} from './errors/index.ts'
export type { CallHeaders, MessageHeaders } from './headers.ts'
export { consoleLogger, type Logger } from './logger.ts'
export { type MemoryOptions, type MemoryTransport, memory } from './memory/memory.ts'
export type { Delivery, Peer } from './message.ts'
export type {
  AnyMiddleware,
  CallerFigures,
  DurationBuckets,
  Handle,
  HandlerFigures,
  Middleware,
  MiddlewareMessage,
  ReceivedMessage,
  SentMessage,
  ServiceStatus,
  WatchedClient,
  WatchedService
} from './middleware.ts'
export type { Pattern } from './pattern.ts'
export type { DistinguishedName, PeerCertificate } from './peer-certificate.ts'
export type { AnyStore } from './store.ts'
export { type ResultEnd, type ResultWatcher, tap } from './tap.ts'
export type {
  Address,
  ClientTransport,
  EventStore,
  NestMessage,
  ServerTransport,
  StopOptions,
  StoreClient,
  StoreTraits,
  StoringTraits,
  StoringTransport,
  Traits,
  Transport,
  TransportStats,
  Usage
} from './transport.ts'

/** The exports for writing a transport or building on one: all exports of `index.ts`, and internal parts. */
export { type Answer, answerWith } from './answer.ts'
export { ASKS_FOR_HEADERS, type Front, inFront, readFront } from './answer-headers.ts'
export { type BackoffOptions, backoffCeiling, backoffDelay } from './backoff.ts'
export { ByteList } from './bytes/byte-list.ts'
export { ByteWriter } from './bytes/byte-writer.ts'
export {
  concatBytes,
  copyBytes,
  readUint16,
  readUint24,
  readUint31,
  readUint32,
  readUint63
} from './bytes/read.ts'
export { text } from './bytes/text.ts'
export type { PassingOptions } from './call.ts'
export type { CalledMethod } from './called-method.ts'
export {
  callerName,
  nameClient,
  nameProcess,
  processNames,
  readCallerName,
  type Source
} from './caller-name.ts'
export { type Adapt, adaptedCaller, adaptedPublish, inTurn } from './calls/adapt.ts'
export { checkedDefaults, defaulting } from './calls/call-defaults.ts'
export { ChannelFeed, type ChannelOutput } from './calls/channel-feed.ts'
export { DeadlineTimer, STOOD_STILL } from './calls/deadline-timer.ts'
export { drained, refuseCall } from './calls/drained.ts'
export { INPUT_REFUSED, INPUT_WINDOW, InputStream } from './calls/input-stream.ts'
export { MAX_WAITING, OpenCalls } from './calls/open-calls.ts'
export type { CallSender, FailedAttempt, OpenCallsInit } from './calls/open-calls-init.ts'
export { safely } from './calls/outcome.ts'
export {
  type CallHolder,
  type CallKind,
  type ChannelInput,
  type PendingCall,
  PendingRequest,
  PendingStream,
  type Recover
} from './calls/pending-call.ts'
export { PendingCaller } from './calls/pending-caller.ts'
export { RetryBudget, type RetryBudgetOptions } from './calls/retry-budget.ts'
export { type CheckedRetry, DEFAULT_RETRY, type FailedCall, RetryPolicy } from './calls/retry-policy.ts'
export { SlotTable, StreamTable, type TableEntry } from './calls/stream-table.ts'
export { StreamValues } from './calls/stream-values.ts'
export type { Timer, TimerOwner } from './calls/timer.ts'
export { inheritedOptions } from './calls/within.ts'
export type { Codec, CodecFactory, Encoded } from './codec/codec.ts'
export {
  type Carrying,
  type CodecName,
  codecNames,
  codecsInWords,
  hasCodec,
  knownMimeTypes,
  mimeTypeOfCodec,
  openCodec,
  registerCodec
} from './codec/codecs.ts'
export { checkDepth, isTooDeep, MAX_DEPTH } from './codec/depth.ts'
export { jsonCodec } from './codec/json.ts'
export { reasonOf } from './codec/uncarriable.ts'
export { UnreadJson } from './codec/unread-json.ts'
export { DESCRIBE_ROUTE, describeRoute } from './describe-routes.ts'
export { type AnnouncedStore, type Announcement, announce, isInDevelopment } from './development.ts'
export {
  type DevelopmentSpan,
  type DevelopmentTracer,
  TRACER,
  type TracedMessage,
  type TracedSide,
  tracedReceived,
  tracedSent
} from './development-trace.ts'
export type { Dispatcher, Route } from './dispatcher.ts'
export { ageOf, idleTimers, LOOK_AT_CLOCK, monotonicClock, passedBy } from './durable/clock.ts'
export {
  type ChangedDeadLetter,
  changeDeadLetters,
  type DeadLetterChange
} from './durable/dead-letter-changes.ts'
export { type DeliveredEvent, dateOf, deliveryOf } from './durable/delivery.ts'
export { directedHeaders, GROUPS, GROUPS_HEADER, isForOthers } from './durable/directed.ts'
export { Dispatchers, type DispatchSettings } from './durable/dispatchers.ts'
export type { DurableEngine, HeldEvent } from './durable/durable-engine.ts'
export { dueOf, hasTime, noFuture } from './durable/future.ts'
export { durableGroup, storesNothing, waitingOptions } from './durable/group.ts'
export {
  checkGroup,
  checkRecurrence,
  type DurableSettings,
  durableSettings,
  groupOf,
  pauseAfter,
  skippedAtStart
} from './durable/options.ts'
export { GivenUp, outcomeOf, reasonToGiveUp } from './durable/outcome.ts'
export {
  checkPublishOptions,
  type DurableRoute,
  durableRoutes,
  secondHandler,
  VIA_PLAIN,
  viaOf
} from './durable/published.ts'
export {
  checkScheduleName,
  dropPlanned,
  ownerOf,
  planNext,
  prefixOf,
  ruleOf
} from './durable/schedule.ts'
export { endSettled } from './durable/settling.ts'
export type { StoreQuestion } from './durable/store-questions.ts'
export { whenTaken } from './durable/taken.ts'
export { DurableWorker } from './durable/worker.ts'
export { callersTimeOver, canceledByCaller, serviceStopped } from './errors/ended.ts'
export { declaredError, describe, errorOf, forOneMore, noteCall, unsendable } from './errors/index.ts'
export {
  ErrorAnswer,
  EventHandlersError,
  type Failure,
  isNoHandler,
  isRejected,
  readFailure
} from './failure.ts'
export { cleanUpFailed } from './handler-failed.ts'
export { RESERVED_PREFIX, refuseReserved } from './headers.ts'
export { codeOfStatus, HTTP_CODES, isErrorStatus } from './http-codes.ts'
export * from './index.ts'
export { INSIDE, type InsideClient, insideOf } from './inside-client.ts'
export { checkLogger, loggerOf, serviceLoggerOf } from './logger.ts'
export {
  IncomingMessage,
  type IncomingMessageInit,
  ownIn,
  readableHeaders,
  type Settlement,
  type Sources,
  type StoredParts
} from './message.ts'
export { composeMiddleware, wrapCaller, wrapDispatcher, wrapPublish } from './middleware.ts'
export { nextTurn } from './next-turn.ts'
export { Notices } from './notices.ts'
export {
  type FigureSource,
  figureSources,
  type ReadFigures,
  readFigures,
  tellFigures,
  withCurrentTrace,
  writeTracesBy
} from './observers.ts'
export {
  atLeast,
  checkNames,
  checkTimes,
  type Filled,
  type FromTable,
  filled,
  LONGEST_TIME,
  milliseconds,
  mustBe,
  mustBeAtLeast,
  mustBeBoolean,
  mustBeFunction,
  mustBeMilliseconds,
  mustBeOneOf,
  mustBeSecret,
  mustBeText,
  mustBeWhole,
  mustHaveOnly,
  nearest,
  type OptionCheck,
  type OptionRow,
  type OptionTable,
  readTable,
  SAME_OPTIONS,
  timeoutOf,
  unlessFalse,
  withDefaults,
  withoutUndefined
} from './options.ts'
export { OutgoingValues, UNLIMITED } from './outgoing-values.ts'
export { noteOverrun, overrunOf } from './overrun.ts'
export { nameOf, routeOf, routeOfValue } from './pattern.ts'
export { QuietLog, quietLog, shown } from './quiet-log.ts'
export { type EventSender, reportEvent } from './report-event.ts'
export { forgetResting } from './rest.ts'
export {
  codeOfError,
  codeOfNumber,
  ERROR_CODES,
  GrpcStatus,
  isRpcCode,
  nameOfStatus,
  RPC_CODES,
  type RpcCode
} from './rpc-codes.ts'
export { DEFAULT_DRAIN, endedWithin, type RunningAnswer, RunningMessages } from './running-messages.ts'
export { statsOf } from './stats-of.ts'
export { storeOf } from './store.ts'
export {
  asPromise,
  consume,
  exhaust,
  FEED,
  type Feed,
  isStream,
  isStreamOfValues,
  isThenable,
  type StreamSink,
  type StreamSource,
  whenSettled
} from './stream.ts'
export { type ClientContext, type ServerContext, type Sharing, STORES_EVERYTHING } from './transport.ts'
export { paused, unlessAborted } from './unless-aborted.ts'
export { ValueQueue } from './value-queue.ts'
export { bySpecificity, hasWildcards, routeMatches, SEGMENTS, type Wildcards } from './wildcards.ts'
export { errorToText, fieldsOfError, INTERNAL_ERROR_TEXT, readErrorText } from './wire-error.ts'

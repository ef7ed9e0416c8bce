/** For those who write a transport, or stand on one: everything of `index.ts`, and what it is made of. */
export { type Answer, answerWith } from './answer.ts'
export { aroundCaller, aroundDispatcher, composeArounds } from './around.ts'
export { type BackoffOptions, backoffCeiling, backoffDelay } from './backoff.ts'
export { ByteList } from './bytes/byte-list.ts'
export { ByteWriter } from './bytes/byte-writer.ts'
export { copyBytes, readUint16, readUint24, readUint31, readUint32, readUint63 } from './bytes/read.ts'
export { text } from './bytes/text.ts'
export { ChannelFeed, type ChannelOutput } from './calls/channel-feed.ts'
export { DeadlineTimer } from './calls/deadline-timer.ts'
export { INPUT_WINDOW, InputStream } from './calls/input-stream.ts'
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
export { SlotTable, StreamTable, type TableEntry } from './calls/stream-table.ts'
export type { Timer } from './calls/timer.ts'

export type { Codec } from './codec/codec.ts'
export { CODEC_NAMES, hasCodec, knownMimeTypes, mimeTypeOfCodec, openCodec } from './codec/codecs.ts'
export { jsonCodec } from './codec/json.ts'
export type { Dispatcher, Route } from './dispatcher.ts'
export { describe, errorOf } from './errors/index.ts'
export { ErrorAnswer, EventHandlersError, type Failure, isNoHandler, readFailure } from './failure.ts'
export * from './index.ts'
export { guardedLogger } from './logger.ts'
export { IncomingMessage, type IncomingMessageInit } from './message.ts'
export { INTERNAL_ERROR, NO_MESSAGE_HANDLER } from './nest-words.ts'
export { Notices } from './notices.ts'
export { atLeast, checkNames, type Filled, nearest, withDefaults } from './options.ts'
export { OutgoingValues, UNLIMITED } from './outgoing-values.ts'
export { routeOf, routeOfValue } from './pattern.ts'
export { reportEvent } from './report-event.ts'
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
export type { ClientContext, ServerContext, Sharing } from './transport.ts'
export { ValueQueue } from './value-queue.ts'
export { errorToText, INTERNAL_ERROR_TEXT, readErrorText } from './wire-error.ts'

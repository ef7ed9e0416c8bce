/**
 * The exports for writing an engine: the author writes a `Carrier`, and a `Store` if the engine stores events. The rest
 * of a transport is here.
 */
export { addressOfCall, addressOfHandler } from './address.ts'
export type {
  Carried,
  CarriedHeaders,
  Carrier,
  CarrierListener,
  DataRecord,
  Engine,
  Sender,
  Words
} from './carrier.ts'
export {
  type ClientStore,
  type ClientStoreInit,
  type EventContent,
  type EventHead,
  noBacklog,
  PublishingStore,
  unknownGroup
} from './durable/client-store.ts'
export { connectedStore } from './durable/connected-store.ts'
export {
  type Consumer,
  type ConsumerInit,
  figuresOf,
  type ServerStore
} from './durable/durable-server.ts'
export { delayLeft, type OutgoingEvent, type Store } from './durable/outgoing-event.ts'
export { Publisher } from './durable/publisher.ts'
export { Recent } from './durable/recent.ts'
export { Recovery } from './durable/recovery.ts'
export type { StoreConnection, StoreEngine } from './durable/store-engine.ts'
export type { StoreParts } from './durable/store-parts.ts'
export { type StoredEvent, StoredFields, storedMessage } from './durable/stored-message.ts'
export {
  backlogEvent,
  deadLetterOf,
  futureIn,
  headersIn,
  inPages,
  isCutPage,
  merged,
  type StoredRow,
  type WaitingRows,
  waitingEvent
} from './durable/stored-rows.ts'
export { whyTooOld } from './durable/too-old.ts'
export {
  type TransactionalEvent,
  type TransactionalRun,
  TransactionalRuns
} from './durable/transactional-runs.ts'
export { checkHeaders, joinedHeaders } from './headers.ts'
export { Hearing } from './hearing.ts'
export { HeldMessages } from './held-messages.ts'
export {
  type Addresses,
  CONNECT_TIMEOUT,
  checkWindow,
  EVENTS,
  HEARTBEAT,
  readAddress,
  readUrls,
  refuseForeign,
  type ServerAddress,
  STORAGE,
  TLS
} from './options.ts'
export { Reconnecting } from './reconnecting.ts'
export { repeat } from './repeat.ts'
export { Room } from './room.ts'
export { forgetSecrets, newSecret } from './secret.ts'
export type { EngineStats } from './server/dialogue-server.ts'
export { contentOf, patternOf, readableContentOf } from './server/incoming.ts'
export { OncePerQueue, Subject, Subjects } from './server/subjects.ts'
export { type EngineParts, engineTransport } from './transport.ts'
export { unanswered, unreachable } from './unreachable.ts'
export { bytesOf, jsonOf, MAX_REPLY, numberIn, replyToken, textOf } from './words.ts'

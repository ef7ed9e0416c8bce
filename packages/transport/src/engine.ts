/**
 * The exports for writing an engine: the author writes a `Carrier`, and a `Store` if the engine stores events. The rest
 * of a transport is here.
 */
export { addressOfCall, addressOfHandler } from './engine/address.ts'
export type {
  Carried,
  CarriedHeaders,
  Carrier,
  CarrierListener,
  DataRecord,
  Engine,
  Sender,
  Words
} from './engine/carrier.ts'
export {
  type ClientStore,
  type ClientStoreInit,
  type EventContent,
  type EventHead,
  PublishingStore,
  unknownGroup
} from './engine/durable/client-store.ts'
export {
  type Consumer,
  type ConsumerInit,
  figuresOf,
  type ServerStore
} from './engine/durable/durable-server.ts'
export {
  type OutgoingEvent,
  Publisher,
  type Store
} from './engine/durable/publisher.ts'
export { Recent } from './engine/durable/recent.ts'
export { Recovery } from './engine/durable/recovery.ts'
export { StoredFields, storedMessage } from './engine/durable/stored-message.ts'
export { checkHeaders, joinedHeaders } from './engine/headers.ts'
export { Hearing } from './engine/hearing.ts'
export { HeldMessages } from './engine/held-messages.ts'
export {
  checkWindow,
  EVENTS,
  QUEUE,
  readAddress,
  type ServerAddress,
  STORAGE,
  TIMEOUT,
  TLS
} from './engine/options.ts'
export { Reconnecting } from './engine/reconnecting.ts'
export { repeat } from './engine/repeat.ts'
export { Room } from './engine/room.ts'
export { newSecret } from './engine/secret.ts'
export type { EngineStats } from './engine/server/dialogue-server.ts'
export { contentOf, patternOf, readableContentOf } from './engine/server/incoming.ts'
export { OncePerQueue, Subject, Subjects } from './engine/server/subjects.ts'
export { type EngineParts, engineTransport } from './engine/transport.ts'
export { unreachable } from './engine/unreachable.ts'
export { bytesOf, jsonOf, MAX_REPLY, numberIn, replyToken, textOf } from './engine/words.ts'

/** Nest's packets: the exports for transports that exchange messages with programs that use Nest. */

export type { GrpcClasses, GrpcForm, GrpcInvocation, GrpcMessage, InvokeGrpc } from './called-method.ts'
export type { ChannelRef, ConsumerRef, ProducerRef } from './nest/driver-refs.ts'
export { answerByEventHandlers } from './nest/event-answer.ts'
export { failurePacket } from './nest/failure-packet.ts'
export {
  GrpcMetadata,
  type GrpcMetadataValue,
  readGrpcMetadata,
  valuesOfMetadata
} from './nest/grpc-metadata.ts'
export { type GrpcPattern, grpcFormOf, grpcPatternsOf } from './nest/grpc-patterns.ts'
export {
  adviceFor,
  type FromNest,
  fromNest,
  NEST_SHARED,
  type NestEnd,
  type NestMethod,
  type NestOption,
  type NestTable,
  ofSeconds,
  onlyIf,
  RECONNECTS
} from './nest/nest-options.ts'
export { NEST_OPTION_NAMES } from './nest/option-names.ts'
export {
  errorPacket,
  eventPacket,
  idToJson,
  isPartTooDeep,
  lastValuePacket,
  type NestPacket,
  noHandlerPacket,
  parsePacket,
  readPacket,
  requestHead,
  requestPacket,
  toJson,
  valuePacket
} from './nest/packet.ts'
export { isForeign, readRemoteError } from './nest/reply.ts'
export { type ContextClass, contextOver, type MessageView } from './nest/rpc-context.ts'
export { type Replies, RunningReply } from './nest/running-reply.ts'
export { nestTransportName, nestTransportOf } from './nest/transports.ts'
export type { MqttPacket, RmqMessage } from './nest/views.ts'
export { INTERNAL_ERROR, NO_MESSAGE_HANDLER } from './nest/words.ts'

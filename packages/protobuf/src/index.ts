/** The exports: `.proto` files, or descriptors of them, as services with codecs. */
export {
  type GeneratedFile,
  type GeneratedService,
  loadProto,
  type ProtoFiles,
  type ProtoSource,
  protoOf
} from './load-proto.ts'
export { type NestLoader, nestShapes } from './options/nest-shapes.ts'
export type { JsonValue, MessageCodec, Proto, ProtoMethod, ProtoService, SharedBytes } from './proto.ts'
export type { ProtoShapes } from './proto-shapes.ts'
export { protoTypes } from './proto-types.ts'
export type { RpcCode } from './rpc/codes.ts'
export type { DescribedHandler, DescribedService } from './schema/described.ts'
export type { ProtoNumbers } from './schema/numbers.ts'
export { type ServiceProto, type ServiceProtoOptions, serviceProto } from './service-proto.ts'

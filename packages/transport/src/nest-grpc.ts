/** Nest's handlers of gRPC and what they are given: data, metadata and call. Loaded by those who serve or call such methods. */

export { noteMetadata } from './nest/grpc/call.ts'
export { type GrpcFailure, grpcFailureOf } from './nest/grpc/failure.ts'
export { type GrpcClasses, type GrpcInvocation, grpcInvocations } from './nest/grpc/invocation.ts'
export {
  GrpcMetadata,
  type GrpcMetadataValue,
  readGrpcMetadata,
  valuesOfMetadata
} from './nest/grpc/metadata.ts'

/**
 * The parts that gRPC, gRPC-Web and Connect share: codes, details of failures, metadata, deadlines, messages with their
 * prefix. For the packages of these protocols; users need none of it.
 */
export { noteMetadata } from './nest/call.ts'
export { invokeGrpc } from './nest/invocation.ts'
export { type AnswerHeaderLists, answerHeaders, NO_HEADERS } from './rpc/answer-headers.ts'
export { fromBase64, toBase64 } from './rpc/base64.ts'
export {
  CODES,
  codeOfNumber,
  ERROR_CODES,
  GrpcStatus,
  isRpcCode,
  nameOfStatus,
  type RpcCode,
  readStatus
} from './rpc/codes.ts'
export { acceptsGzip, isGzip, SUPPORTED } from './rpc/compression-names.ts'
export { CallFailure, type Failure, type FailureDetail } from './rpc/failure.ts'
export { type FailedCall, failureOf, unsendableResult } from './rpc/failure-of.ts'
export { pack, unpack } from './rpc/gzip.ts'
export {
  MessageFlag,
  MessageReader,
  type OnMessage,
  PREFIX,
  prefixed,
  type WrongMessage,
  writePrefix
} from './rpc/message-reader.ts'
export { addMetadata, type HeaderList, headerList, type Metadata } from './rpc/metadata.ts'
export { errorOfStatus } from './rpc/received-failure.ts'
export { type GivenServices, servicesOf } from './rpc/services.ts'
export { readTimeout, writeTimeout } from './rpc/timeout.ts'
export { statusTrailers, type TrailerRoom } from './rpc/trailers.ts'

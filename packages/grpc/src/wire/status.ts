/** The statuses that other failures mean. grpc: doc/http-grpc-status-mapping.md, doc/PROTOCOL-HTTP2.md, "Errors". */
import { GrpcStatus } from '@elysia-microservices/protobuf/rpc'
import { ErrorCode } from '../http2/error-code.ts'

const OF_HTTP: ReadonlyMap<number, number> = new Map([
  [400, GrpcStatus.INTERNAL],
  [401, GrpcStatus.UNAUTHENTICATED],
  [403, GrpcStatus.PERMISSION_DENIED],
  [404, GrpcStatus.UNIMPLEMENTED],
  [429, GrpcStatus.UNAVAILABLE],
  [502, GrpcStatus.UNAVAILABLE],
  [503, GrpcStatus.UNAVAILABLE],
  [504, GrpcStatus.UNAVAILABLE]
])

/** The status of a response without `grpc-status`, which a proxy has made. @param status of HTTP */
export function statusOfHttp(status: number): number {
  return OF_HTTP.get(status) ?? GrpcStatus.UNKNOWN
}

const OF_RESET: ReadonlyMap<number, number> = new Map([
  [ErrorCode.STREAM_CLOSED, GrpcStatus.UNKNOWN],
  [ErrorCode.REFUSED_STREAM, GrpcStatus.UNAVAILABLE],
  [ErrorCode.CANCEL, GrpcStatus.CANCELLED],
  [ErrorCode.ENHANCE_YOUR_CALM, GrpcStatus.RESOURCE_EXHAUSTED],
  [ErrorCode.INADEQUATE_SECURITY, GrpcStatus.PERMISSION_DENIED]
])

/** The status of a stream that the peer has reset. @param errorCode of HTTP/2 */
export function statusOfReset(errorCode: number): number {
  if (errorCode > ErrorCode.HTTP_1_1_REQUIRED) return GrpcStatus.UNKNOWN
  return OF_RESET.get(errorCode) ?? GrpcStatus.INTERNAL
}

/** The status codes of gRPC, and those that other failures mean. grpc: doc/statuscodes.md, doc/http-grpc-status-mapping.md. */
import { ErrorCode } from '../http2/error-code.ts'

/** The codes, by their names in gRPC. */
export const GrpcStatus = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16
} as const

const NAMES: readonly string[] = Object.keys(GrpcStatus)
const CODE = /^(?:\d|1[0-6])$/

/** The name of a code, such as `NOT_FOUND`. */
export function nameOfStatus(code: number): string {
  return NAMES[code] ?? 'UNKNOWN'
}

/** Reads the field `grpc-status`. A code that gRPC does not have counts as `UNKNOWN`. */
export function readStatus(value: string): number {
  return CODE.test(value) ? Number(value) : GrpcStatus.UNKNOWN
}

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

/** Errors of calls over gRPC, in the form that callers of Nest's client know: grpc-js's `ServiceError`. */
import {
  CanceledError,
  ConnectionError,
  OverloadedError,
  PayloadTooLargeError,
  RpcError,
  TimeoutError
} from '@elysia-microservices/transport/kit'
import { GrpcMetadata } from '@elysia-microservices/transport/nest'

const NAMES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED'
]
const CANCELLED = 1
const DEADLINE_EXCEEDED = 4
const RESOURCE_EXHAUSTED = 8
const INTERNAL = 13
const UNAVAILABLE = 14

/** A failed call: `code` is the number of the status, and `details` the text that the service has given. */
export class GrpcServiceError extends Error {
  readonly code: number
  readonly details: string
  /** The metadata that the service has sent with the end of its answer. */
  readonly metadata: GrpcMetadata

  constructor(code: number, details: string, metadata: GrpcMetadata, cause: unknown) {
    super(`${code} ${NAMES[code] ?? 'UNKNOWN'}: ${details}`, { cause })
    this.name = 'Error'
    this.code = code
    this.details = details
    this.metadata = metadata
  }
}

/** The error of a call that its own caller has given up. */
export function canceled(): GrpcServiceError {
  return new GrpcServiceError(CANCELLED, 'Cancelled on client', new GrpcMetadata(), undefined)
}

/** @param trailers what came with the end of the answer. Default: nothing */
export function serviceErrorOf(
  error: unknown,
  trailers: GrpcMetadata = new GrpcMetadata()
): GrpcServiceError {
  if (error instanceof CanceledError) return canceled()
  const { grpcStatus } = Object(error instanceof RpcError ? error.received : undefined) as {
    readonly grpcStatus?: unknown
  }
  const { message = String(error) } = Object(error) as { readonly message?: string }
  const code = typeof grpcStatus === 'number' ? grpcStatus : localCode(error)
  return new GrpcServiceError(code, message, trailers, error)
}

/** The status of an error of this process, as grpc-js has it for the same cause. */
function localCode(error: unknown): number {
  if (error instanceof TimeoutError) return DEADLINE_EXCEEDED
  if (error instanceof ConnectionError) return UNAVAILABLE
  if (error instanceof OverloadedError || error instanceof PayloadTooLargeError) return RESOURCE_EXHAUSTED
  return INTERNAL
}

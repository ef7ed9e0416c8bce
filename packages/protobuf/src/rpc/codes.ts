/** The codes with which calls end: numbers in gRPC, words in Connect. */
import { GrpcStatus } from '@elysia-microservices/transport/kit'

export {
  codeOfError,
  codeOfNumber,
  ERROR_CODES,
  GrpcStatus,
  isRpcCode,
  nameOfStatus,
  RPC_CODES as CODES,
  type RpcCode
} from '@elysia-microservices/transport/kit'

const STATUS = /^(?:\d|1[0-6])$/

/** Reads the field `grpc-status`. A number that gRPC does not have counts as `UNKNOWN`. */
export function readStatus(value: string): number {
  return STATUS.test(value) ? Number(value) : GrpcStatus.UNKNOWN
}

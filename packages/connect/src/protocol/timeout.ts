/** Deadlines in the headers of requests. */
import { CallFailure, readTimeout } from '@elysia-microservices/protobuf/rpc'
import { LONGEST_TIME } from '@elysia-microservices/transport/kit'

/**
 * The milliseconds in Connect's header `connect-timeout-ms`; `undefined` if there is no header. A longer time than a
 * timer can have (24.8 days) counts as that.
 * @throws {CallFailure} `invalid_argument`: the header is not a time
 */
export function connectTimeout(header: string | null): number | undefined {
  if (header === null) return undefined
  if (!/^\d{1,10}$/.test(header)) throw invalid('connect-timeout-ms', 'at most 10 digits')
  return Math.min(Number(header), LONGEST_TIME)
}

/**
 * The milliseconds in gRPC's header `grpc-timeout`, as `connectTimeout` returns them.
 * @throws {CallFailure} `invalid_argument`: the header is not a time
 */
export function grpcTimeout(header: string | null): number | undefined {
  if (header === null) return undefined
  const time = readTimeout(header)
  if (time === undefined) throw invalid('grpc-timeout', 'at most 8 digits and one of H, M, S, m, u and n')
  return Math.min(Math.ceil(time), LONGEST_TIME)
}

function invalid(name: string, expected: string): CallFailure {
  return new CallFailure('invalid_argument', `The header ${name} must be ${expected}`)
}

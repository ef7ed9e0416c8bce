/** The trailers of calls as fields: name, value, name, value… */
import {
  codeOfNumber,
  type Failure,
  failureOf,
  type RpcCode,
  statusTrailers,
  type TrailerRoom
} from '@elysia-microservices/protobuf/rpc'
import type { IncomingMessage, Logger } from '@elysia-microservices/transport/kit'

/** Receivers refuse fields of more than some 8 KB. */
const LONGEST_MESSAGE = 1_024
const LARGEST_DETAILS = 4_096
const NO_ROOM: TrailerRoom = { message: LONGEST_MESSAGE, details: 0, tooLarge() {} }

/** Makes trailers with a status of the transport. @param reason a sentence for people; empty for none */
export function trailersOf(status: number, reason = ''): string[] {
  const code = codeOfNumber(status)
  return code === undefined
    ? ['grpc-status', '0']
    : statusTrailers({ code, message: reason, details: [] }, NO_ROOM).flat()
}

/**
 * Makes the trailers of a call whose handler has failed. An unexpected error is logged, and its caller only learns that
 * there was one.
 * @param errors codes of calls for codes of the application
 */
export function trailersOfError(
  error: unknown,
  logger: Logger,
  message: IncomingMessage,
  errors?: Readonly<Record<string, RpcCode>>
): string[] {
  const failure: Failure = failureOf(error, { logger, message, errors })
  const tooLarge = (size: number) =>
    logger.error(`The details of an error have ${size} bytes; gRPC has room for ${LARGEST_DETAILS}`, error)
  return statusTrailers(failure, { message: LONGEST_MESSAGE, details: LARGEST_DETAILS, tooLarge }).flat()
}

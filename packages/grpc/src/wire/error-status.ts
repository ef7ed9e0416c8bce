/**
 * Errors as a status of gRPC, and back. The code of our contract travels in a `google.rpc.ErrorInfo`, and details in a
 * `google.protobuf.Value`, so that programs in other languages can read both.
 */
import {
  errorOf,
  errorToText,
  type IncomingMessage,
  isRejected,
  type Logger,
  RejectedError,
  RpcError,
  readErrorText,
  text
} from '@elysia-microservices/transport/kit'
import { readPercent, writePercent } from './percent.ts'
import { bytesField, readFields } from './protobuf.ts'
import { GrpcStatus, nameOfStatus } from './status.ts'
import { readStatusDetails, type StatusDetail, writeStatusDetails } from './status-details.ts'
import { readValue, writeValue } from './value.ts'

/** Most characters of `grpc-message`, and most bytes of details: receivers refuse fields of more than some 8 KB. */
const LONGEST_MESSAGE = 1_024
const LARGEST_DETAILS = 4_096
const INFO = 'google.rpc.ErrorInfo'
const VALUE = 'google.protobuf.Value'
const REASON = 1
const DOMAIN = 2
const OUR_DOMAIN = 'elysia-microservices'
/** Of our services this code says that no handler has run. Other libraries let handlers send it. */
const UNAUTHENTICATED = 'UNAUTHENTICATED'

/** The statuses of codes of our contract, and of the names of HTTP's statuses. Those of gRPC's own names are the same. */
const OF_CODE: Readonly<Record<string, number>> = {
  BAD_REQUEST: GrpcStatus.INVALID_ARGUMENT,
  CANCELED: GrpcStatus.CANCELLED,
  CONFLICT: GrpcStatus.ABORTED,
  FORBIDDEN: GrpcStatus.PERMISSION_DENIED,
  GATEWAY_TIMEOUT: GrpcStatus.DEADLINE_EXCEEDED,
  NOT_IMPLEMENTED: GrpcStatus.UNIMPLEMENTED,
  PATTERN_NOT_FOUND: GrpcStatus.UNIMPLEMENTED,
  PAYLOAD_TOO_LARGE: GrpcStatus.RESOURCE_EXHAUSTED,
  PRECONDITION_FAILED: GrpcStatus.FAILED_PRECONDITION,
  REQUEST_TIMEOUT: GrpcStatus.DEADLINE_EXCEEDED,
  SERVICE_UNAVAILABLE: GrpcStatus.UNAVAILABLE,
  TIMEOUT: GrpcStatus.DEADLINE_EXCEEDED,
  TOO_MANY_REQUESTS: GrpcStatus.RESOURCE_EXHAUSTED,
  UNAUTHORIZED: GrpcStatus.UNAUTHENTICATED,
  UNPROCESSABLE_ENTITY: GrpcStatus.INVALID_ARGUMENT,
  VALIDATION: GrpcStatus.INVALID_ARGUMENT
}

function statusOfCode(code: string): number {
  if (Object.hasOwn(OF_CODE, code)) return OF_CODE[code] as number
  return Object.hasOwn(GrpcStatus, code) && code !== 'OK'
    ? GrpcStatus[code as keyof typeof GrpcStatus]
    : GrpcStatus.UNKNOWN
}

/**
 * Makes the trailers of a failed call: name, value, name, value… An unexpected error is logged, and its caller only learns
 * that there was one.
 */
export function trailersOfError(error: unknown, logger: Logger, of: IncomingMessage | string): string[] {
  const { code = 'UNKNOWN', message, details } = readErrorText(errorToText(error, logger, of))
  const status = isRejected(error) ? GrpcStatus.UNAVAILABLE : statusOfCode(code)
  const trailers = trailersOf(status, message)
  const isNamed = code === nameOfStatus(status) && code !== UNAUTHENTICATED
  if (isNamed && details === undefined) return trailers
  const parts: StatusDetail[] = [
    { type: INFO, value: infoOf(code) },
    ...(details === undefined ? [] : detailsOf(details))
  ]
  const bytes = writeStatusDetails({ code: status, message, details: parts })
  if (bytes.length <= LARGEST_DETAILS)
    trailers.push('grpc-status-details-bin', Buffer.from(bytes).toString('base64').replace(/=+$/, ''))
  else
    logger.error(
      `The details of an error have ${bytes.length} bytes; gRPC has room for ${LARGEST_DETAILS}`,
      error
    )
  return trailers
}

/** Makes trailers with a status. @param message a sentence for people; empty for none */
export function trailersOf(status: number, message = ''): string[] {
  const trailers = ['grpc-status', String(status)]
  if (message !== '') trailers.push('grpc-message', writePercent(message, LONGEST_MESSAGE))
  return trailers
}

function infoOf(code: string): Uint8Array {
  const domain = bytesField(DOMAIN, Buffer.from(OUR_DOMAIN))
  return Buffer.concat([bytesField(REASON, Buffer.from(code)), domain])
}

function detailsOf(details: unknown): StatusDetail[] {
  const value = writeValue(details)
  return value === undefined ? [] : [{ type: VALUE, value }]
}

/**
 * Makes the error of a call that has failed at the other side.
 * @param message the field `grpc-message`
 * @param encoded the field `grpc-status-details-bin`, if there is one
 */
export function errorOfStatus(status: number, message: string, encoded: string | undefined): Error {
  const said = readPercent(message)
  const read = encoded === undefined ? undefined : readStatusDetails(Buffer.from(encoded, 'base64'))
  const info = read?.details.find(({ type }) => type === INFO)
  const { reason, domain } = info === undefined ? { reason: '', domain: '' } : readInfo(info.value)
  const details = read?.details.find(({ type }) => type === VALUE)
  const isOurs = domain === OUR_DOMAIN && reason !== ''
  const code = isOurs ? reason : nameOfStatus(status)
  const value = details === undefined ? undefined : readValue(details.value)?.value
  const received = { grpcStatus: status, code, message: said, details: value }
  const sentence = said === '' ? code : said
  if (isOurs && reason === 'REJECTED' && status === GrpcStatus.UNAVAILABLE)
    return new RejectedError(sentence, received)
  return isOurs
    ? errorOf(code, sentence, value, received)
    : new RpcError({ code, message: sentence, details: value }, received)
}

function readInfo(bytes: Uint8Array): { readonly reason: string; readonly domain: string } {
  let reason = ''
  let domain = ''
  readFields(bytes, (number, value) => {
    if (typeof value === 'number') return true
    if (number === REASON) reason = text.read(value, 0, value.length)
    if (number === DOMAIN) domain = text.read(value, 0, value.length)
    return true
  })
  return { reason, domain }
}

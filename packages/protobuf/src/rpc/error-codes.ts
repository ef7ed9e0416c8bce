/** The codes of calls for the codes of errors of this library, of applications and of HTTP. */
import { codeOfNumber, isRpcCode, type RpcCode } from './codes.ts'

/**
 * The codes of this library and the names of HTTP statuses. The names of gRPC's codes, such as `FAILED_PRECONDITION`,
 * stand for themselves. docs/other-languages.md has the same table.
 */
export const ERROR_CODES: Readonly<Record<string, RpcCode>> = {
  BAD_GATEWAY: 'unavailable',
  BAD_REQUEST: 'invalid_argument',
  CANCELED: 'canceled',
  CANCELLED: 'canceled',
  CONFLICT: 'aborted',
  FAILED_DEPENDENCY: 'failed_precondition',
  FORBIDDEN: 'permission_denied',
  GATEWAY_TIMEOUT: 'deadline_exceeded',
  GONE: 'not_found',
  INVALID: 'invalid_argument',
  LOCKED: 'failed_precondition',
  METHOD_NOT_ALLOWED: 'unimplemented',
  MISDIRECTED: 'invalid_argument',
  NOT_ACCEPTABLE: 'invalid_argument',
  NOT_IMPLEMENTED: 'unimplemented',
  PARSE: 'invalid_argument',
  PATTERN_NOT_FOUND: 'unimplemented',
  PAYLOAD_TOO_LARGE: 'resource_exhausted',
  PAYMENT_REQUIRED: 'failed_precondition',
  PRECONDITION_FAILED: 'failed_precondition',
  PRECONDITION_REQUIRED: 'failed_precondition',
  REQUEST_TIMEOUT: 'deadline_exceeded',
  SERVICE_UNAVAILABLE: 'unavailable',
  STREAM_OVERFLOW: 'resource_exhausted',
  TIMEOUT: 'deadline_exceeded',
  TOO_MANY_REQUESTS: 'resource_exhausted',
  UNAUTHORIZED: 'unauthenticated',
  UNPROCESSABLE_ENTITY: 'invalid_argument',
  UNSUPPORTED_MEDIA_TYPE: 'invalid_argument',
  VALIDATION: 'invalid_argument'
}

/** The codes for HTTP statuses of errors that have no code of the table. */
const BY_STATUS: ReadonlyMap<number, RpcCode> = new Map([
  [401, 'unauthenticated'],
  [403, 'permission_denied'],
  [404, 'not_found'],
  [408, 'deadline_exceeded'],
  [409, 'aborted'],
  [410, 'not_found'],
  [412, 'failed_precondition'],
  [413, 'resource_exhausted'],
  [429, 'resource_exhausted'],
  [499, 'canceled'],
  [501, 'unimplemented'],
  [502, 'unavailable'],
  [503, 'unavailable'],
  [504, 'deadline_exceeded']
])

/** The parts of an error that decide about the code of its call. */
export interface Coded {
  /** The code of this library or of the application; `undefined` if the error has none. */
  readonly code: string | undefined
  /** A number in place of the code, as gRPC's codes in Nest's `RpcException`. */
  readonly number?: unknown
  /** The HTTP status. */
  readonly status?: unknown
}

/**
 * The code for an error: that of the application's own table, else that of the error's code, of its number in gRPC, or of
 * its HTTP status; `unknown` if nothing is known of it.
 */
export function codeOfError(
  { code, number, status }: Coded,
  own: Readonly<Record<string, RpcCode>> = {}
): RpcCode {
  if (code !== undefined) {
    if (Object.hasOwn(own, code)) return own[code] as RpcCode
    if (Object.hasOwn(ERROR_CODES, code)) return ERROR_CODES[code] as RpcCode
    const lower = code.toLowerCase()
    if (isRpcCode(lower) && lower !== 'unknown') return lower
  }
  return codeOfNumber(number) ?? codeOfStatus(status) ?? 'unknown'
}

function codeOfStatus(status: unknown): RpcCode | undefined {
  if (typeof status !== 'number' || status < 400 || status > 599) return undefined
  return BY_STATUS.get(status) ?? (status < 500 ? 'invalid_argument' : 'internal')
}

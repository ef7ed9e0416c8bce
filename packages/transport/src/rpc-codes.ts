/**
 * The codes with which calls of gRPC and Connect end, and those of them that stand for the codes of errors of this
 * library, of applications and of HTTP. They are here because services, callers and telemetry need the same table.
 */

/** The codes by their names in gRPC. grpc: doc/statuscodes.md */
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

/** The codes of failures in Connect, each with its number in gRPC and its HTTP status. connectrpc.com/docs/protocol#error-codes */
export const RPC_CODES = {
  canceled: { number: 1, status: 499 },
  unknown: { number: 2, status: 500 },
  invalid_argument: { number: 3, status: 400 },
  deadline_exceeded: { number: 4, status: 504 },
  not_found: { number: 5, status: 404 },
  already_exists: { number: 6, status: 409 },
  permission_denied: { number: 7, status: 403 },
  resource_exhausted: { number: 8, status: 429 },
  failed_precondition: { number: 9, status: 400 },
  aborted: { number: 10, status: 409 },
  out_of_range: { number: 11, status: 400 },
  unimplemented: { number: 12, status: 501 },
  internal: { number: 13, status: 500 },
  unavailable: { number: 14, status: 503 },
  data_loss: { number: 15, status: 500 },
  unauthenticated: { number: 16, status: 401 }
} as const

/** The code of a failure. gRPC has the same codes in upper case, and `CANCELLED` with two L. */
export type RpcCode = keyof typeof RPC_CODES

/** Whether a value is the code of a failure. */
export function isRpcCode(value: unknown): value is RpcCode {
  return typeof value === 'string' && Object.hasOwn(RPC_CODES, value)
}

const BY_NUMBER: ReadonlyMap<unknown, RpcCode> = new Map(
  Object.entries(RPC_CODES).map(([code, { number }]): [number, RpcCode] => [number, code as RpcCode])
)

/** The code with this number in gRPC; `undefined` if there is none. */
export function codeOfNumber(number: unknown): RpcCode | undefined {
  return BY_NUMBER.get(number)
}

const NAMES: readonly string[] = Object.keys(GrpcStatus)

/** The name of a number in gRPC, such as `NOT_FOUND`. */
export function nameOfStatus(number: number): string {
  return NAMES[number] ?? 'UNKNOWN'
}

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

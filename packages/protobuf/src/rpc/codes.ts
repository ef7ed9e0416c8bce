/** The codes with which calls end: numbers in gRPC, words in Connect. */

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
export const CODES = {
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
export type RpcCode = keyof typeof CODES

/** Whether a value is the code of a failure. */
export function isRpcCode(value: unknown): value is RpcCode {
  return typeof value === 'string' && Object.hasOwn(CODES, value)
}

const BY_NUMBER: ReadonlyMap<unknown, RpcCode> = new Map(
  Object.entries(CODES).map(([code, { number }]): [number, RpcCode] => [number, code as RpcCode])
)

/** The code with this number in gRPC; `undefined` if there is none. */
export function codeOfNumber(number: unknown): RpcCode | undefined {
  return BY_NUMBER.get(number)
}

const NAMES: readonly string[] = Object.keys(GrpcStatus)
const STATUS = /^(?:\d|1[0-6])$/

/** The name of a number in gRPC, such as `NOT_FOUND`. */
export function nameOfStatus(number: number): string {
  return NAMES[number] ?? 'UNKNOWN'
}

/** Reads the field `grpc-status`. A number that gRPC does not have counts as `UNKNOWN`. */
export function readStatus(value: string): number {
  return STATUS.test(value) ? Number(value) : GrpcStatus.UNKNOWN
}

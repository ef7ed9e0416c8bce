/** The codes of errors that Connect, gRPC-Web and gRPC share. */

/** Each code with its number in gRPC and its HTTP status in Connect (https://connectrpc.com/docs/protocol#error-codes). */
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

/** The code of an error in Connect. gRPC has the same codes in upper case. */
export type ConnectCode = keyof typeof CODES

/** Whether a value is the code of an error in Connect. */
export function isConnectCode(value: unknown): value is ConnectCode {
  return typeof value === 'string' && Object.hasOwn(CODES, value)
}

const BY_NUMBER: ReadonlyMap<unknown, ConnectCode> = new Map(
  Object.entries(CODES).map(([code, { number }]): [number, ConnectCode] => [number, code as ConnectCode])
)

/** The code with this number in gRPC; `undefined` if there is none. */
export function codeOfNumber(number: unknown): ConnectCode | undefined {
  return BY_NUMBER.get(number)
}

/** Finds the HTTP status of an error. */
import {
  ConnectionError,
  codeOfStatus,
  HTTP_CODES,
  isErrorStatus,
  OptionError,
  RpcError
} from '@elysia-microservices/transport/kit'

/** The statuses by error code: codes that are named after HTTP statuses, and the codes of this library. */
export const DEFAULT_STATUSES: Readonly<Record<string, number>> = {
  ...Object.fromEntries([...HTTP_CODES].map(([status, code]) => [code, status])),
  PARSE: 400,
  UNAUTHENTICATED: 401,
  ALREADY_EXISTS: 409,
  VALIDATION: 422,
  CANCELED: 499,
  PATTERN_NOT_FOUND: 501,
  PROTOCOL: 502,
  REJECTED: 503,
  OVERLOADED: 503,
  CONNECTION: 503,
  TIMEOUT: 504
}

/** The statuses of an application's error codes. */
export type Statuses = ReadonlyMap<string, number>

const DEFAULTS: Statuses = new Map(Object.entries(DEFAULT_STATUSES))

/**
 * Checks the statuses of an application's error codes, and returns them as a map.
 * @throws {OptionError} a status is not from 400 to 599
 */
export function statusTable(own: Readonly<Record<string, number>> = {}): Statuses {
  if (typeof own !== 'object' || own === null)
    throw OptionError.expected('options.errors', 'an object of statuses by the codes of errors', own)
  for (const [code, status] of Object.entries(own)) {
    if (!isErrorStatus(status)) {
      throw OptionError.expected(`options.errors.${code}`, 'a status from 400 to 599', status)
    }
  }
  return new Map(Object.entries(own))
}

/** The default status of an error code; 500 if the code has none. */
export function statusOfCode(code: string): number {
  return DEFAULTS.get(code) ?? 500
}

/**
 * Code and status of an error of this library. The application's status takes precedence, then the error's own,
 * then the default.
 */
export function statusOf(
  error: { readonly code: string } & Error,
  statuses: Statuses
): { code: string; status: number } {
  const { code } = error
  const chosen = statuses.get(code)
  if (chosen !== undefined) return { code, status: chosen }
  // The call may have run. So the status must differ from that of a call that was never sent.
  if (error instanceof ConnectionError && error.mayHaveRun) return { code, status: 502 }
  if (error instanceof RpcError && isErrorStatus(error.status))
    return { code: code === 'UNKNOWN' ? codeOfStatus(error.status) : code, status: error.status }
  return { code, status: statusOfCode(code) }
}

/** The field `status` or `statusCode` that HTTP libraries set on errors, among them Nest's `HttpException`. */
export function numericStatus(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown }
  return [status, statusCode].find(isErrorStatus)
}

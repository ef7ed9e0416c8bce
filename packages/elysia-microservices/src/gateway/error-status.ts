/** Finds the HTTP status of an error. */
import {
  ConnectionError,
  codeOfStatus,
  HTTP_CODES,
  isErrorStatus,
  OptionError,
  RpcError
} from '@elysia-microservices/transport/kit'

/** Statuses by code: those of HTTP, and those of this library. */
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

/** Statuses of an application's codes. */
export type Statuses = ReadonlyMap<string, number>

const DEFAULTS: Statuses = new Map(Object.entries(DEFAULT_STATUSES))

/**
 * Reads the statuses of an application's codes.
 * @throws {OptionError} a status is not from 400 to 599
 */
export function statusTable(own: Readonly<Record<string, number>> = {}): Statuses {
  for (const [code, status] of Object.entries(own)) {
    if (!isErrorStatus(status)) {
      throw OptionError.expected(`options.errors.${code}`, 'a status from 400 to 599', status)
    }
  }
  return new Map(Object.entries(own))
}

/** The status of a code that nothing else is said of: that of its name, or 500. */
export function statusOfCode(code: string): number {
  return DEFAULTS.get(code) ?? 500
}

/** Code and status of an error of this library: the application's status, else the error's own, else the default. */
export function statusOf(
  error: { readonly code: string } & Error,
  statuses: Statuses
): { code: string; status: number } {
  const { code } = error
  const chosen = statuses.get(code)
  if (chosen !== undefined) return { code, status: chosen }
  // It may have run, so it must not look like a call that was never sent.
  if (error instanceof ConnectionError && error.mayHaveRun) return { code, status: 502 }
  if (error instanceof RpcError && isErrorStatus(error.status))
    return { code: code === 'UNKNOWN' ? codeOfStatus(error.status) : code, status: error.status }
  return { code, status: statusOfCode(code) }
}

/** The `status` or `statusCode` of an error as HTTP libraries make them, Nest's `HttpException` among them. */
export function numericStatus(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown }
  return [status, statusCode].find(isErrorStatus)
}

/** Which HTTP status an error has. */
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

/** The default table with the application's codes over it. */
export type Statuses = ReadonlyMap<string, number>

/**
 * Puts the codes of an application over the default table.
 * @throws {OptionError} a status is not from 400 to 599
 */
export function statusTable(own: Readonly<Record<string, number>> = {}): Statuses {
  for (const [code, status] of Object.entries(own)) {
    if (!isErrorStatus(status)) {
      throw OptionError.expected(`options.errors.${code}`, 'a status from 400 to 599', status)
    }
  }
  return new Map([...Object.entries(DEFAULT_STATUSES), ...Object.entries(own)])
}

/** Code and status of an error of this library. */
export function statusOf(
  error: { readonly code: string } & Error,
  statuses: Statuses
): { code: string; status: number } {
  const { code } = error
  if (
    error instanceof ConnectionError &&
    error.mayHaveRun &&
    statuses.get(code) === DEFAULT_STATUSES['CONNECTION']
  ) {
    // It may have run, so it must not look like a call that was never sent.
    return { code, status: 502 }
  }
  const status = statuses.get(code)
  if (status !== undefined) return { code, status }
  const own = error instanceof RpcError ? numericStatus(error.received) : undefined
  return { code: own !== undefined && code === 'UNKNOWN' ? codeOfStatus(own) : code, status: own ?? 500 }
}

/** The `status` or `statusCode` of an error as HTTP libraries make them, Nest's `HttpException` among them. */
export function numericStatus(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown }
  return [status, statusCode].find(isErrorStatus)
}

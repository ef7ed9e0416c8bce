/** Which HTTP status an error has. */
import { ConnectionError, OptionError, RpcError } from '@elysia-microservices/transport/kit'

/** Statuses by code. The first code of a status names errors that have a status and no code. */
export const DEFAULT_STATUSES: Readonly<Record<string, number>> = {
  BAD_REQUEST: 400,
  PARSE: 400,
  UNAUTHORIZED: 401,
  UNAUTHENTICATED: 401,
  PAYMENT_REQUIRED: 402,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  NOT_ACCEPTABLE: 406,
  CONFLICT: 409,
  ALREADY_EXISTS: 409,
  GONE: 410,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  VALIDATION: 422,
  UNPROCESSABLE_ENTITY: 422,
  LOCKED: 423,
  PRECONDITION_REQUIRED: 428,
  TOO_MANY_REQUESTS: 429,
  CANCELED: 499,
  INTERNAL: 500,
  NOT_IMPLEMENTED: 501,
  PATTERN_NOT_FOUND: 501,
  BAD_GATEWAY: 502,
  PROTOCOL: 502,
  SERVICE_UNAVAILABLE: 503,
  REJECTED: 503,
  OVERLOADED: 503,
  CONNECTION: 503,
  TIMEOUT: 504
}

const NAMES = new Map(
  Object.entries(DEFAULT_STATUSES)
    .reverse()
    .map(([code, status]) => [status, code])
)

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
  return { code: own !== undefined && code === 'UNKNOWN' ? nameOf(own) : code, status: own ?? 500 }
}

/** The `status` or `statusCode` of an error as HTTP libraries make them, Nest's `HttpException` among them. */
export function numericStatus(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown }
  return [status, statusCode].find(isErrorStatus)
}

/** The code for a status: `NOT_FOUND` for 404. */
export function nameOf(status: number): string {
  return NAMES.get(status) ?? (status < 500 ? 'BAD_REQUEST' : 'INTERNAL')
}

function isErrorStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599
}

/** Turns errors into HTTP answers. Only what a service has sent to its callers is in the answer; the rest is logged. */
import {
  ConnectionError,
  codeOfStatus,
  consoleLogger,
  LocalError,
  type Logger,
  loggerOf,
  MicroserviceError,
  milliseconds,
  PatternNotFoundError,
  UnauthenticatedError
} from '@elysia-microservices/transport/kit'
import { numericStatus, type Statuses, statusOf, statusTable } from './error-status.ts'

/** The body of every error. */
export interface ErrorBody {
  /** The code of the error, for programs. */
  readonly code: string
  /** One sentence about the error, for people. */
  readonly message: string
  /** Details that the service has added, if any. */
  readonly details?: unknown
}

/** Options for the answers to errors. */
export interface ErrorOptions {
  /** HTTP statuses, from 400 to 599, for the application's error codes. They take precedence over the default table. */
  readonly errors?: Readonly<Record<string, number>> | undefined
  /**
   * Milliseconds that `Retry-After` tells a caller to wait, if trying again is safe; the header has whole seconds.
   * Default: 1,000.
   */
  readonly retryAfter?: number | undefined
  /** Receives details of errors that callers are not told. Default: the console. */
  readonly logger?: Logger | undefined
}

/** The HTTP response to an error. */
export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: ErrorBody
}

const INTERNAL: ErrorBody = { code: 'INTERNAL', message: 'Internal server error' }

/** Codes that say that the call has not run, and may succeed later. */
const LATER: ReadonlySet<string> = new Set(['REJECTED', 'OVERLOADED'])

const UNREACHED = 'The service cannot be reached'

/** Messages that replace this library's own, because those name hosts, ports, patterns and limits. */
const PUBLIC_MESSAGES: ReadonlyMap<string, string> = new Map([
  ['CANCELED', 'The request was canceled'],
  ['CONNECTION', UNREACHED],
  ['INTERNAL', INTERNAL.message],
  ['OVERLOADED', 'The service takes no more requests at the moment'],
  ['PATTERN_NOT_FOUND', 'The service has no handler for this request'],
  ['PAYLOAD_TOO_LARGE', 'The request is too large'],
  ['PROTOCOL', 'The service has given no valid answer'],
  ['REJECTED', 'The service takes no more requests at the moment'],
  ['TIMEOUT', 'The service did not answer in time']
])

/** Turns errors into HTTP answers, and logs what the answers leave out. */
export class ErrorAnswers {
  readonly #statuses: Statuses
  readonly #retryAfter: string
  readonly #logger: Logger

  /** @throws {OptionError} an option is invalid */
  constructor({ errors, retryAfter = 1_000, logger = consoleLogger }: ErrorOptions = {}) {
    milliseconds(0, 'options.retryAfter', retryAfter)
    this.#statuses = statusTable(errors)
    this.#retryAfter = String(Math.ceil(retryAfter / 1_000))
    this.#logger = loggerOf(logger)
  }

  /**
   * Returns the answer to any error.
   * @param what the request, for the log
   * @param isRepeatable whether running the call twice does no harm
   */
  of(error: unknown, what: string, isRepeatable = false): ErrorAnswer {
    try {
      return this.#read(error, what, isRepeatable)
    } catch {
      // The error cannot be read: it is a revoked Proxy, or has a getter that throws.
      this.#logger.error(`${what} failed with an error that cannot be read`)
      return { status: 500, headers: {}, body: INTERNAL }
    }
  }

  #read(error: unknown, what: string, isRepeatable: boolean): ErrorAnswer {
    if (isRefused(error))
      return this.#ofOurs(new ConnectionError(error.message, false, error), what, isRepeatable)
    if (error instanceof MicroserviceError) return this.#ofOurs(error, what, isRepeatable)
    const status = numericStatus(error)
    if (status !== undefined && status < 500) {
      const code = codeOfStatus(status)
      const { message } = error as { message?: unknown }
      return { status, headers: {}, body: { code, message: typeof message === 'string' ? message : code } }
    }
    this.#logger.error(`${what} failed`, error)
    return { status: status ?? 500, headers: {}, body: INTERNAL }
  }

  #ofOurs(error: MicroserviceError, what: string, isRepeatable: boolean): ErrorAnswer {
    const { code, status } = statusOf(error, this.#statuses)
    const headers: Record<string, string> = {}
    // The service that answers so has begun with the call: what it needs was not there.
    const isBegun = code === 'SERVICE_UNAVAILABLE' && isRepeatable
    if (LATER.has(code) || isBegun || isUnreached(error)) headers['retry-after'] = this.#retryAfter
    const hidden = isUnreached(error)
      ? UNREACHED
      : (PUBLIC_MESSAGES.get(code) ?? (error instanceof LocalError ? INTERNAL.message : undefined))
    if (hidden !== undefined) {
      // A canceled request is not a failure, so it is not logged.
      if (code !== 'CANCELED')
        this.#logger.warn(`${what} is answered with ${status} ${code}: ${error.message}`)
      return { status, headers, body: { code, message: hidden } }
    }
    const { message, details } = error as MicroserviceError & { details?: unknown }
    // Details of an error that was made here may be anything. If they cannot be written, this throws.
    if (details !== undefined) JSON.stringify(details)
    return { status, headers, body: details === undefined ? { code, message } : { code, message, details } }
  }
}

/** Whether the call has reached no process of the service. */
function isUnreached(error: MicroserviceError): boolean {
  if (error instanceof PatternNotFoundError) return error.status === 503
  return error instanceof ConnectionError && !error.mayHaveRun
}

/**
 * Whether the service refuses the gateway itself, and not this request. In that case the client has added the
 * address to the service's message, so the two messages differ.
 */
function isRefused(error: unknown): error is UnauthenticatedError {
  if (!(error instanceof UnauthenticatedError) || error.received === undefined) return false
  return (Object(error.received) as { message?: unknown }).message !== error.message
}

/**
 * Tells browsers to use only the declared content type: the gateway passes a service's answer on without reading
 * it, so the answer may contain anything.
 */
export const NO_SNIFFING = { 'x-content-type-options': 'nosniff' } as const

/** The fields of the context of Elysia's hooks that are needed for an answer. */
export interface HttpContext {
  readonly request: Request
  readonly set: {
    status?: number | string | undefined
    readonly headers: Record<string, string | number | undefined>
  }
}

/**
 * An error answer as a response. The status is stored in `set`, too, for hooks of the app that read it there, as
 * access logs do.
 */
export function errorResponse({ status, headers, body }: ErrorAnswer, { set }: HttpContext): Response {
  set.status = status
  return Response.json(body, { status, headers: { ...NO_SNIFFING, ...headers } })
}

/**
 * Derives the options of a call from its HTTP request: deadline, signal, headers, and whether the call may run
 * twice.
 */
import {
  type CallOptions,
  type HandledMessage,
  LONGEST_TIME,
  OptionError,
  RpcError
} from '@elysia-microservices/transport/kit'
import { type Identifiable, isRequestId, requestIdOf } from './request-id.ts'
import { signalOf } from './signal.ts'

/** The part of an Elysia handler's context that is needed here. */
export type RequestContext = Identifiable

/**
 * The request headers that are sent to the service: a list of names, or a function that makes headers from the
 * request.
 */
export type HeaderRule<Context = RequestContext> =
  | readonly string[]
  | ((context: Context) => Readonly<Record<string, string | undefined>>)

/** Options that say how a call follows from its HTTP request. */
export interface ForwardOptions<Context = RequestContext> {
  /**
   * Milliseconds, including the time to connect, within which the answer, or the first value of a stream, must
   * arrive; `false` for no limit. Default: 30,000.
   */
  readonly timeout?: number | false | undefined
  /**
   * Milliseconds that a call may wait for a connection after the client has lost it. While the service is down,
   * requests wait that long and are then answered with 503. Default: 1,000.
   */
  readonly waitForConnection?: number | undefined
  /**
   * The request header by which a caller shortens the timeout, in milliseconds; `false` for none. Default:
   * `'x-request-timeout'`.
   */
  readonly timeoutHeader?: string | false | undefined
  /**
   * The request headers that are sent to the service. A list of names replaces the default; the headers that a
   * function returns are added to the default. Default: `traceparent`, `tracestate` and `x-request-id`.
   */
  readonly headers?: HeaderRule<Context> | undefined
  /**
   * Whether running the call twice does no harm. If so, the call is retried when its connection is lost, even if it
   * may have run already. Default: `true` for GET, HEAD and OPTIONS, which HTTP calls safe, `false` for other
   * methods.
   */
  readonly idempotent?: boolean | undefined
  /**
   * With several endpoints: calls with the same key go to the same endpoint, as long as that endpoint accepts them.
   * Default: none.
   */
  readonly key?: string | ((context: Context) => string | undefined) | undefined
  /**
   * The message for which the call is made. The call then ends when the time of that message is over or its signal
   * aborts, if that comes first. Default: none.
   */
  readonly within?: ((context: Context) => HandledMessage | undefined) | undefined
}

export const DEFAULTS = {
  timeout: 30_000,
  waitForConnection: 1_000,
  timeoutHeader: 'x-request-timeout',
  headers: ['traceparent', 'tracestate', 'x-request-id']
} as const

/** Methods that HTTP calls safe (RFC 9110, 9.2.1): a proxy may repeat such requests. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const MILLISECONDS = /^\d{1,15}$/

/** Checks the options. @throws {OptionError} an option is invalid */
export function assertForwardOptions({
  timeout,
  waitForConnection,
  timeoutHeader,
  headers,
  idempotent,
  key,
  within
}: ForwardOptions<never>): void {
  if (timeout !== false) assertTime('options.timeout', timeout, 1, ', or false for no limit')
  assertTime('options.waitForConnection', waitForConnection)
  if (timeoutHeader !== undefined && timeoutHeader !== false && typeof timeoutHeader !== 'string') {
    throw OptionError.expected('options.timeoutHeader', 'the name of a header or false', timeoutHeader)
  }
  const isList = Array.isArray(headers) && headers.every((name) => typeof name === 'string')
  if (headers !== undefined && typeof headers !== 'function' && !isList) {
    throw OptionError.expected('options.headers', 'a list of names or a function', headers)
  }
  if (idempotent !== undefined && typeof idempotent !== 'boolean')
    throw OptionError.expected('options.idempotent', 'true or false', idempotent)
  if (key !== undefined && typeof key !== 'string' && typeof key !== 'function')
    throw OptionError.expected('options.key', 'a text or a function', key)
  if (within !== undefined && typeof within !== 'function')
    throw OptionError.expected('options.within', 'a function', within)
}

function assertTime(path: string, time: number | undefined, least = 0, more = ''): void {
  if (time === undefined || (Number.isInteger(time) && time >= least && time <= LONGEST_TIME)) return
  throw OptionError.expected(
    path,
    `milliseconds, a whole number from ${least} to ${LONGEST_TIME}${more}`,
    time
  )
}

/** The options of a call that follows from a request. */
export interface ForwardedOptions extends Pick<CallOptions, 'key' | 'within'> {
  readonly timeout: number | false
  readonly waitForConnection: number
  readonly signal: AbortSignal
  readonly headers: Readonly<Record<string, string>>
  readonly idempotent: boolean
}

/**
 * Returns the options of a call that follows from a request. The call ends when the request's client disconnects or
 * the request's time is over. It carries the allowed headers, and may be retried if the request may be repeated.
 * @throws {RpcError} code `VALIDATION`: the timeout header is not a number of milliseconds
 */
export function callOptions<Context extends RequestContext>(
  context: Context,
  {
    timeout = DEFAULTS.timeout,
    waitForConnection = DEFAULTS.waitForConnection,
    timeoutHeader = DEFAULTS.timeoutHeader,
    headers,
    idempotent,
    key,
    within
  }: ForwardOptions<Context> = {}
): ForwardedOptions {
  const { request } = context
  const ownKey = typeof key === 'function' ? key(context) : key
  const outer = within?.(context)
  return {
    timeout: timeoutHeader === false ? timeout : shorter(timeout, timeoutHeader, request.headers),
    waitForConnection,
    signal: signalOf(request),
    headers: forwarded(context, headers),
    idempotent: isRepeatable(request, idempotent),
    ...(ownKey !== undefined && { key: ownKey }),
    ...(outer !== undefined && { within: outer })
  }
}

/** Whether a request may run twice. @param idempotent the option of its route */
export function isRepeatable({ method }: Request, idempotent?: boolean): boolean {
  return idempotent ?? SAFE.has(method)
}

function shorter(timeout: number | false, name: string, headers: Headers): number | false {
  const given = headers.get(name)
  if (given === null) return timeout
  const path = `headers.${name}`
  if (!MILLISECONDS.test(given) || Number(given) === 0) {
    const details = { path, expected: 'milliseconds, a whole number above 0' }
    throw new RpcError({ code: 'VALIDATION', message: `${path}: expected ${details.expected}`, details })
  }
  return Math.min(Number(given), timeout === false ? LONGEST_TIME : timeout)
}

function forwarded<Context extends RequestContext>(
  context: Context,
  rule: HeaderRule<Context> = DEFAULTS.headers
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of typeof rule === 'function' ? DEFAULTS.headers : rule) {
    const value = isRequestId(name) ? requestIdOf(context) : context.request.headers.get(name)
    if (value !== null) headers[name.toLowerCase()] = value
  }
  if (typeof rule !== 'function') return headers
  for (const [name, value] of Object.entries(rule(context))) if (value !== undefined) headers[name] = value
  return headers
}

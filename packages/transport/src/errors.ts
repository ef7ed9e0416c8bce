/**
 * The one error family. Two branches, told apart by who speaks:
 * an `RpcError` is an answer of the other side (or, thrown by a handler, our answer to the caller);
 * a `TransportError` says that no answer came and why. Nothing of a `TransportError` crosses the wire.
 */

/** What every error of this library has in common: a stable `code` to branch on. */
export abstract class MicroserviceError extends Error {
  override name = 'MicroserviceError'
  /** Stable, upper-case identifier of what went wrong; safe to compare against. */
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** What an application error consists of. */
export interface RpcErrorInit {
  /** Stable identifier the caller can branch on, such as `'ORDER_NOT_FOUND'`. Default: `'UNKNOWN'`. */
  readonly code?: string
  /** One sentence for a human. Default: the code. */
  readonly message?: string
  /** Anything the codec can carry that helps the caller. */
  readonly details?: unknown
}

/**
 * An application error: throw it in a handler and the caller receives code, message and details; a caller
 * catches the same class. It is the only kind of error whose content leaves the process.
 */
export class RpcError extends MicroserviceError {
  override name = 'RpcError'
  /** What the thrower added for the caller; `undefined` if nothing. */
  readonly details: unknown
  /**
   * The error exactly as it came over the wire; `undefined` on an error made in this process. An error with
   * it that escapes a handler is a failure of that handler, not its answer, and is not passed on.
   */
  readonly received: unknown

  constructor(init: RpcErrorInit | string, received?: unknown) {
    const { code = 'UNKNOWN', message = code, details } = typeof init === 'string' ? { message: init } : init
    super(code, message)
    this.details = details
    this.received = received
  }

  /** The form in which the error crosses the wire. */
  toJSON(): { status: 'error'; code: string; message: string; details?: unknown } {
    const { code, message, details } = this
    return details === undefined
      ? { status: 'error', code, message }
      : { status: 'error', code, message, details }
  }
}

/** Nobody on the other side handles the pattern. Code `PATTERN_NOT_FOUND`. */
export class PatternNotFoundError extends RpcError {
  override name = 'PatternNotFoundError'

  constructor(message: string, received?: unknown) {
    super({ code: 'PATTERN_NOT_FOUND', message }, received)
  }
}

/** A value that is not what it must be: an option, a pattern, data. Code `VALIDATION`. */
export class ValidationError extends RpcError {
  override name = 'ValidationError'
  /** Where the value stands, such as `options.port` or `data.items[2]`. */
  readonly path: string
  /** What was expected there, in words. */
  readonly expected: string

  /**
   * @param message the sentence of a schema's library, where there is one; else it is made of the rest
   * @param answer the error as it came over the wire, whose details are kept
   */
  constructor(
    path: string,
    expected: string,
    received: unknown,
    message?: string,
    answer?: { readonly details: unknown }
  ) {
    const shown = describe(received)
    super(
      {
        code: 'VALIDATION',
        message: message ?? `${path}: expected ${expected}, received ${shown}`,
        details: answer?.details ?? { path, expected, received: shown }
      },
      answer
    )
    this.path = path
    this.expected = expected
  }
}

/** The other side refused to start the work; trying again later is safe. Code `REJECTED`. */
export class RejectedError extends RpcError {
  override name = 'RejectedError'

  constructor(message: string, received?: unknown) {
    super({ code: 'REJECTED', message }, received)
  }
}

/** The error a caller gets for an answer that has a code: of the class that the other side threw. */
export function errorOf(code: string, message: string, details: unknown, answer: unknown): RpcError {
  if (code === 'PATTERN_NOT_FOUND') return new PatternNotFoundError(message, answer)
  if (code === 'VALIDATION') {
    const { path, expected, received } = Object(details) as Record<string, unknown>
    if (typeof path === 'string' && typeof expected === 'string')
      return new ValidationError(path, expected, received, message, Object(answer))
  }
  return new RpcError({ code, message, details }, answer)
}

/** No answer: the connection or the call itself failed. Never crosses the wire. */
export abstract class TransportError extends MicroserviceError {
  override name = 'TransportError'
}

/** No answer within the time allowed. The work may have run. Code `TIMEOUT`. */
export class TimeoutError extends TransportError {
  override name = 'TimeoutError'
  /** Time allowed, in milliseconds. */
  readonly timeout: number

  constructor(pattern: string, timeout: number) {
    super('TIMEOUT', `No answer to '${pattern}' within ${timeout} ms`)
    this.timeout = timeout
  }
}

/** The caller gave the call up, by its `AbortSignal`. The work may have run. Code `CANCELED`. */
export class CanceledError extends TransportError {
  override name = 'CanceledError'

  constructor(pattern: string, reason?: unknown) {
    super('CANCELED', `The call of '${pattern}' was canceled by its signal`, { cause: reason })
  }
}

/** The connection could not be made, or was lost before the answer came. Code `CONNECTION`. */
export class ConnectionError extends TransportError {
  override name = 'ConnectionError'
  /**
   * `false`: the request never left this process, sending it again is safe.
   * `true`: it may have reached the other side, the work may have run.
   */
  readonly sent: boolean
  /**
   * Why, as the code of the cause: the system's, such as `ECONNREFUSED`, or of TLS, such as `TLS_WRONG_HOST` (see
   * `TlsFailureCode`); `undefined` if the cause has none.
   */
  readonly reason: string | undefined

  constructor(message: string, sent: boolean, cause?: unknown) {
    super('CONNECTION', message, cause === undefined ? undefined : { cause })
    this.sent = sent
    const { code } = Object(cause) as { code?: unknown }
    if (cause instanceof ConnectionError) this.reason = cause.reason
    else this.reason = typeof code === 'string' ? code : undefined
  }
}

/** A server could not start to listen. Its code is that of the system, such as `EADDRINUSE`. */
export class ListenError extends TransportError {
  override name = 'ListenError'

  /** @param where the address in words: host and port, or a path */
  constructor(where: string, cause: Error & { code?: string }) {
    const code = cause.code ?? 'LISTEN'
    // The system's codes say it all; what certificates and keys suffer from is in the message.
    const detail = /^E[A-Z0-9]+$/.test(code) ? '' : `: ${cause.message}`
    const hint =
      code === 'EADDRINUSE' ? '; another process listens there, choose another port or path' : detail
    super(code, `Cannot listen on ${where} (${code})${hint}`, { cause })
  }
}

/** A worker of a service (one of several processes) could not start, or could not do what was asked. Code `WORKER`. */
export class WorkerError extends TransportError {
  override name = 'WorkerError'
  /** Which of the workers, from 1. */
  readonly worker: number

  /** @param reason what happened to it, in words */
  constructor(worker: number, pid: number | undefined, reason: string) {
    const process = pid === undefined ? '' : ` (process ${pid})`
    super('WORKER', `Worker ${worker}${process}: ${reason}`)
    this.worker = worker
  }
}

/** The peer sent bytes the protocol does not allow; the connection is closed. Code `PROTOCOL`. */
export class ProtocolError extends TransportError {
  override name = 'ProtocolError'

  constructor(message: string, cause?: unknown) {
    super('PROTOCOL', message, cause === undefined ? undefined : { cause })
  }
}

/** More bytes or characters than a limit allows; the connection is closed. Code `PAYLOAD_TOO_LARGE`. */
export class PayloadTooLargeError extends TransportError {
  override name = 'PayloadTooLargeError'
  /** The option that set the limit. */
  readonly option: string
  /** Its value, in the unit of the option. */
  readonly limit: number

  constructor(option: string, limit: number, actual: number, unit: string) {
    super('PAYLOAD_TOO_LARGE', `${actual} ${unit} exceed ${option}, which allows ${limit}`)
    this.option = option
    this.limit = limit
  }
}

/** A value in a few words, for messages: never its whole content. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'string') return value.length > 64 ? `'${value.slice(0, 61)}...'` : `'${value}'`
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : `an object (${nameOf(value)})`
  if (typeof value === 'function') return 'a function'
  return String(value)
}

function nameOf(value: object): string {
  return value.constructor?.name ?? 'no prototype'
}

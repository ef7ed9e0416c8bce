/**
 * Local errors: failures on this side. They are never sent: a local error that a handler does not catch becomes an
 * internal failure of the handler, whatever its class.
 */
import { RpcError, UnauthenticatedError } from './answers.ts'
import { describe, MicroserviceError } from './microservice-error.ts'

/** The base class of errors that say why no answer has arrived. */
export abstract class LocalError extends MicroserviceError {
  override name = 'LocalError'
}

/**
 * A value given to this library is wrong: an option, a pattern, headers, or data that the codec cannot carry. Nothing
 * was sent. Code `OPTION`.
 */
export class OptionError extends LocalError {
  override name = 'OptionError'
  readonly mayHaveRun: boolean = false
  readonly retryable = false
  /** Path of the wrong value, such as `options.port` or `data.items[2]`. */
  readonly path: string

  /** @param message one sentence: what is wrong at `path`, and what to do */
  constructor(path: string, message: string, cause?: unknown) {
    super('OPTION', message, cause === undefined ? undefined : { cause })
    this.path = path
  }

  /**
   * Makes the error for a value of the wrong kind.
   * @param expected the right kind, as text
   */
  static expected(path: string, expected: string, value: unknown): OptionError {
    return new OptionError(path, `${path} must be ${expected}, but is ${describe(value)}`)
  }
}

/**
 * Makes the error of a call that could not be sent. An error of this library stays unchanged. Any other error was
 * thrown by a value of the user, such as a getter or a Proxy, and becomes the cause of an `OptionError`.
 */
export function unsendable(error: unknown): Error {
  try {
    if (error instanceof MicroserviceError) return error
  } catch {
    // The thrown value is a revoked Proxy, which throws when it is read.
  }
  return new OptionError(
    'call',
    'The call cannot be sent: its pattern, data or options cannot be read',
    error
  )
}

/** This side already holds as many calls or unsent bytes as a limit allows. Nothing was sent. Code `OVERLOADED`. */
export class OverloadedError extends LocalError {
  override name = 'OverloadedError'
  readonly mayHaveRun: boolean = false
  readonly retryable = true

  constructor(message: string) {
    super('OVERLOADED', message)
  }

  /** Makes the answer with which a handler tells its caller of this failure: code `SERVICE_UNAVAILABLE`. */
  pass(): RpcError {
    return passedOn(this, 'SERVICE_UNAVAILABLE')
  }
}

/** No answer came within the time allowed. Code `TIMEOUT`. */
export class TimeoutError extends LocalError {
  override name = 'TimeoutError'
  readonly mayHaveRun: boolean
  readonly retryable = true
  /** Time allowed, in milliseconds. */
  readonly timeout: number

  constructor(
    pattern: string,
    timeout: number,
    mayHaveRun = true,
    message = `No answer to '${pattern}' within ${timeout} ms`
  ) {
    super('TIMEOUT', message)
    this.timeout = timeout
    this.mayHaveRun = mayHaveRun
  }

  /** Makes the answer with which a handler tells its caller of this failure: code `GATEWAY_TIMEOUT`. */
  pass(): RpcError {
    return passedOn(this, 'GATEWAY_TIMEOUT')
  }
}

/** The call was cancelled: by its `AbortSignal`, or by the other side when its deadline had passed. Code `CANCELED`. */
export class CanceledError extends LocalError {
  override name = 'CanceledError'
  readonly mayHaveRun: boolean
  readonly retryable = false

  constructor(
    pattern: string,
    reason?: unknown,
    mayHaveRun = true,
    message = `The call of '${pattern}' was canceled by its signal`
  ) {
    super('CANCELED', message, reason === undefined ? undefined : { cause: reason })
    this.mayHaveRun = mayHaveRun
  }
}

/** The connection could not be made, or was lost before the answer came. Code `CONNECTION`. */
export class ConnectionError extends LocalError {
  override name = 'ConnectionError'
  /** False if the request never left this process; true if it may have reached the other side. */
  readonly mayHaveRun: boolean
  readonly retryable: boolean
  /**
   * The code of the cause: from the system, such as `ECONNREFUSED`, or from TLS, such as `TLS_WRONG_HOST` (see
   * `TlsFailureCode`); `undefined` if the cause has no code.
   */
  readonly reason: string | undefined

  constructor(message: string, mayHaveRun: boolean, cause?: unknown, retryable = true) {
    super('CONNECTION', message, cause === undefined ? undefined : { cause })
    this.mayHaveRun = mayHaveRun
    this.retryable = retryable
    const { code } = Object(cause) as { code?: unknown }
    if (cause instanceof ConnectionError) this.reason = cause.reason
    else this.reason = typeof code === 'string' ? code : undefined
  }

  /**
   * Makes the answer with which a handler tells its caller of this failure: `throw error.pass()`. The code is
   * `SERVICE_UNAVAILABLE` if the handler's call has certainly not run, and `BAD_GATEWAY` if it may have run. The
   * answer names no address.
   */
  pass(): RpcError {
    return passedOn(this, this.mayHaveRun ? 'BAD_GATEWAY' : 'SERVICE_UNAVAILABLE')
  }

  /** Makes the error of a call on a closed client. */
  static closed(mayHaveRun = false): ConnectionError {
    const message = 'The client is closed; make a new one with connect()'
    return new ConnectionError(message, mayHaveRun, undefined, false)
  }
}

const PASSED = {
  BAD_GATEWAY: 'The connection to a service that is needed for this was lost',
  GATEWAY_TIMEOUT: 'A service that is needed for this did not answer in time',
  SERVICE_UNAVAILABLE: 'A service that is needed for this cannot be reached'
}

/** An answer on purpose that tells of a local error what a caller may know. The error itself is its cause. */
function passedOn(error: LocalError, code: keyof typeof PASSED): RpcError {
  return Object.assign(new RpcError({ code, message: PASSED[code] }), { cause: error })
}

/** Copies the error that says why a client cannot reach its server, so that each caller gets a separate error. */
export function forOneMore(error: Error): Error {
  if (error instanceof UnauthenticatedError) return new UnauthenticatedError(error.message, error.received)
  if (error instanceof ConnectionError)
    return new ConnectionError(error.message, error.mayHaveRun, error.cause, error.retryable)
  return error
}

/** A server could not listen. The code comes from the system, such as `EADDRINUSE`. */
export class ListenError extends LocalError {
  override name = 'ListenError'
  readonly mayHaveRun = false
  readonly retryable = false

  /** @param where the address as text: host and port, or a path */
  constructor(where: string, cause: Error & { code?: string }) {
    const code = cause.code ?? 'LISTEN'
    super(code, `Cannot listen on ${where}: ${reasonInWords(code, cause)}`, { cause })
  }
}

/** Explains the code of the system. An error about a certificate has no such code: its message is the explanation. */
function reasonInWords(code: string, { message }: Error): string {
  switch (code) {
    case 'EADDRINUSE':
      return `the address is in use (${code}); stop the program that listens there, or choose another port or path`
    case 'EACCES':
      return `this user may not listen there (${code}); choose a port above 1023, or another path`
    case 'EADDRNOTAVAIL':
      return `this machine does not have that address (${code}); choose one of its own, or '0.0.0.0' for all`
    default:
      return /^E[A-Z0-9]+$/.test(code) ? `the system says ${code}` : message
  }
}

/** A worker (one of several processes of a service) could not start or could not do its task. Code `WORKER`. */
export class WorkerError extends LocalError {
  override name = 'WorkerError'
  readonly mayHaveRun = true
  readonly retryable = false
  /** Number of the worker, from 1. */
  readonly worker: number

  /** @param reason what happened to the worker, as text */
  constructor(worker: number, pid: number | undefined, reason: string) {
    const which = pid === undefined ? '' : ` (process ${pid})`
    super('WORKER', `Worker ${worker}${which}: ${reason}`)
    this.worker = worker
  }
}

/** The peer sent bytes that the protocol does not allow; the connection is closed. Code `PROTOCOL`. */
export class ProtocolError extends LocalError {
  override name = 'ProtocolError'
  readonly mayHaveRun = true
  readonly retryable = false

  constructor(message: string, cause?: unknown) {
    super('PROTOCOL', message, cause === undefined ? undefined : { cause })
  }
}

/** More bytes or characters than a limit allows. Code `PAYLOAD_TOO_LARGE`. */
export class PayloadTooLargeError extends LocalError {
  override name = 'PayloadTooLargeError'
  readonly mayHaveRun: boolean = false
  readonly retryable = false
  /** The option that set the limit, such as `limits.sendBuffer`. */
  readonly option: string
  /** The value of the limit, in the unit of the option. */
  readonly limit: number

  constructor(option: string, limit: number, actual: number, unit: string) {
    super('PAYLOAD_TOO_LARGE', `${actual} ${unit} are more than ${option} allows (${limit})`)
    this.option = option
    this.limit = limit
  }
}

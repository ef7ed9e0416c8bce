/**
 * Logs failures of a client: only changes, only failures that no caller is told of, and few lines even if connections
 * are lost very often.
 */
import type { ConnectionEvent } from './connection-event.ts'
import { RejectedError } from './errors/index.ts'
import type { Logger } from './logger.ts'
import { type QuietLog, quietLog, shown } from './quiet-log.ts'

/** Most lines of one kind in 10 seconds. */
const MOST = 5

/** Writes log lines for the events of a client. */
export class ClientLog {
  readonly #log: QuietLog
  /** Endpoints in trouble. The value says whether a log line has reported the trouble. */
  readonly #troubled = new Map<string, boolean>()
  /** The client was connected once. Before that, callers get the errors, so no line is logged. */
  #wasConnected = false
  #isCut = false

  readonly #isSingle: boolean

  /** @param isSingle the client has one connection at a time, so no call uses another server */
  constructor(logger: Logger, isSingle = false) {
    this.#log = quietLog(logger)
    this.#isSingle = isSingle
  }

  /** Logs an event if it is worth a line. Never throws. */
  take(event: ConnectionEvent): void {
    switch (event.type) {
      case 'status':
        this.#isCut ||= event.status === 'reconnecting'
        return
      case 'connected':
        return this.#connected(event.endpoint)
      case 'disconnected':
        // Without an error, the server has announced that it stops: only later failures are worth a line.
        if (event.error !== undefined)
          this.#trouble(event.endpoint, `The connection to ${event.endpoint} is lost`, event.error)
        return
      case 'connect-failed':
        return this.#trouble(event.endpoint, `Cannot connect to ${event.endpoint}`, event.error)
      case 'ejected':
        return this.#warn(
          'ejected',
          `${event.endpoint} fails too often and gets no calls for up to ${Math.ceil(event.delay)} ms`
        )
      case 'restored':
        return this.#warn('restored', `${event.endpoint} gets calls again`)
      case 'retry':
        // A server that stops, or wants a new connection, refuses requests that it has not begun: one retry is not
        // worth a line.
        if (event.error instanceof RejectedError && event.attempt === 1) return
        return this.#warn('retry', `Retrying '${shown(event.pattern)}': ${reasonOf(event.error)}`, 1)
      case 'event-refused':
        return this.#warn(
          'event-refused',
          `The event '${shown(event.pattern)}' was refused${by(event.endpoint)}: ${reasonOf(event.error)}`
        )
      case 'endpoints':
        // Endpoints that have left the list are removed, because they would be kept for ever.
        for (const endpoint of this.#troubled.keys())
          if (!event.endpoints.includes(endpoint)) this.#troubled.delete(endpoint)
        return
      case 'resolve-failed':
        return this.#warn(
          'resolve-failed',
          `The endpoints cannot be looked up; the known ones stay in use: ${reasonOf(event.error)}`,
          1
        )
    }
  }

  #connected(endpoint: string): void {
    const wasSaid = this.#troubled.get(endpoint) === true
    const saysSo = [...this.#troubled.values()].includes(true)
    this.#troubled.delete(endpoint)
    if (this.#isSingle) this.#troubled.clear()
    if (!this.#wasConnected) {
      this.#wasConnected = true
      for (const [other, isSaid] of this.#troubled)
        if (!isSaid) this.#say(other, `Cannot connect to ${other}; calls use the other servers`)
    } else if (wasSaid || (this.#isCut && saysSo))
      this.#warn('connected', `Connected to ${endpoint}${wasSaid ? ' again' : ''}`)
    this.#isCut = false
  }

  #trouble(endpoint: string, text: string, error: Error | undefined): void {
    if (this.#troubled.get(endpoint) === true) return
    if (!this.#wasConnected) this.#troubled.set(endpoint, false)
    else this.#say(endpoint, error === undefined ? text : `${text}: ${reasonOf(error)}`)
  }

  #say(endpoint: string, line: string): void {
    this.#troubled.set(endpoint, true)
    this.#warn('trouble', line)
  }

  #warn(kind: string, line: string, most = MOST): void {
    this.#log.warn(`client ${kind}`, line, undefined, most)
  }
}

function by(endpoint: string | undefined): string {
  return endpoint === undefined ? '' : ` by ${endpoint}`
}

/** The text of an error. A user's function may reject with any value. */
function reasonOf(error: unknown): string {
  try {
    return shown(String((error as Error).message))
  } catch {
    return 'for a reason that cannot be shown'
  }
}

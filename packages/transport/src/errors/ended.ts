/**
 * Errors of work whose other end is gone. Functions and not static members of their classes, because pages load the
 * classes.
 */
import { CanceledError, ConnectionError, TimeoutError } from './local.ts'

/** The error with which the input of a channel ends at its handler when the caller's time is over. */
export function callersTimeOver(timeout: number): TimeoutError {
  return new TimeoutError('', timeout, true, `The caller has waited for its ${timeout} ms`)
}

/** The error with which the input of a channel ends at its handler when the caller has canceled. */
export function canceledByCaller(): CanceledError {
  return new CanceledError('', undefined, true, 'The caller has canceled the call')
}

/** The error of a call whose service has stopped, and of the call's input at its handler. */
export function serviceStopped(): ConnectionError {
  return new ConnectionError('The service stopped before it had answered', true)
}

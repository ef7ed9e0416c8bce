/** Makes the log line of a failed handler: its pattern and its request. */

import { RpcError } from './errors/index.ts'
import type { IncomingMessage } from './message.ts'
import { shown } from './quiet-log.ts'

/** The header with which callers and gateways identify a request. */
const REQUEST_ID = 'x-request-id'

/**
 * Makes a line that names the handler by the pattern of its message, and the request by its `x-request-id` if it has
 * one. If the error comes from another service, the line says how to pass it on. Never throws, whatever the handler has
 * done to the message.
 * @param of the message whose handler failed, or a text that says what has failed; `undefined`: not known
 */
export function handlerFailed(of: IncomingMessage | string | undefined, error?: unknown): string {
  if (typeof of === 'string') return of + notPassedOn(error)
  try {
    if (of?.kind === 'event') return `A handler of the event '${shown(of.pattern)}' failed${requestOf(of)}`
    if (of !== undefined)
      return `The handler of '${shown(of.pattern)}' failed${requestOf(of)}${notPassedOn(error)}`
  } catch {}
  return 'A message handler failed'
}

/**
 * Makes the log line for a stream whose clean-up failed, such as a `finally` that throws. Never throws.
 * @param answer the message that the stream answers; `undefined`: not known
 */
export function cleanUpFailed(answer: IncomingMessage | undefined): string {
  const line = 'The clean-up of a stream failed'
  try {
    return answer === undefined ? line : `${line}: the answer to '${shown(answer.pattern)}'`
  } catch {
    return line
  }
}

/** If the error comes from another service, says that the caller does not get it; otherwise returns an empty text. */
function notPassedOn(error: unknown): string {
  try {
    if (!(error instanceof RpcError) || error.received === undefined) return ''
    const asked = error.pattern === undefined ? '' : ` to '${shown(error.pattern)}'`
    return `: it did not catch the error ${shown(error.code)} that another service has answered${asked}, so the caller gets INTERNAL. To pass the error on: throw error.pass()`
  } catch {
    return ''
  }
}

function requestOf({ headers }: IncomingMessage): string {
  const id: unknown = headers[REQUEST_ID]
  return typeof id === 'string' && id !== '' ? ` (request ${shown(id)})` : ''
}

/** What a log says of a handler that failed: which one, and for which request. */
import type { IncomingMessage } from './message.ts'
import { shown } from './quiet-log.ts'

/** The header by which callers and gateways name a request. */
const REQUEST_ID = 'x-request-id'

/**
 * Names the handler by the pattern of its message, and the request by its `x-request-id`, if it has one. Never throws,
 * whatever the handler has made of the message.
 * @param message `undefined`: it is not known
 */
export function handlerFailed(message: IncomingMessage | undefined): string {
  try {
    if (message !== undefined) {
      const handler = message.kind === 'event' ? 'A handler of the event' : 'The handler of'
      return `${handler} '${shown(message.pattern)}' failed${requestOf(message)}`
    }
  } catch {}
  return 'A message handler failed'
}

function requestOf({ headers }: IncomingMessage): string {
  const id: unknown = headers[REQUEST_ID]
  return typeof id === 'string' && id !== '' ? ` (request ${shown(id)})` : ''
}

/** What Nest's wires say, whatever carries them. */

/** What callers get when their pattern has no handler, as Nest words it. */
export const NO_MESSAGE_HANDLER = 'There is no matching message handler defined in the remote service.'

/** What is logged when an event has no handler, as Nest words it. */
export const NO_EVENT_HANDLER = 'There is no matching event handler defined in the remote service.'

/** What callers get when a handler failed without saying what may be told, as Nest words it. */
export const INTERNAL_ERROR = { status: 'error', message: 'Internal server error' } as const

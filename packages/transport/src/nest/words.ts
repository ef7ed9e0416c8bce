/** Nest's own sentences, which are the same on every transport. */

/** The answer to a request without a handler. */
export const NO_MESSAGE_HANDLER = 'There is no matching message handler defined in the remote service.'

/** The log line for an event without a handler. */
export const NO_EVENT_HANDLER = 'There is no matching event handler defined in the remote service.'

/** The answer to a request whose handler failed with an unexpected error. */
export const INTERNAL_ERROR = { status: 'error', message: 'Internal server error' } as const

/** Events of a client transport: its status, and how it reacts to failures. */

import type { MessageHeaders } from './headers.ts'

/**
 * The status of a client. `disconnected`: not connected, and no call was made yet (or the client does not reconnect);
 * `connecting`: makes its first connection; `connected`: to at least one endpoint; `reconnecting`: was connected and
 * tries to connect again; `closed`: by `close()`, for good.
 */
export type ClientStatus = 'disconnected' | 'connecting' | 'connected' | 'reconnecting' | 'closed'

/** Something that happened to a client. Endpoints are named `host:port`. */
export type ConnectionEvent =
  | { readonly type: 'status'; readonly status: ClientStatus }
  /** A connection was made. */
  | { readonly type: 'connected'; readonly endpoint: string }
  /** A connection was lost, or its server announced that it stops. */
  | { readonly type: 'disconnected'; readonly endpoint: string; readonly error: Error | undefined }
  /** A connection could not be made. */
  | { readonly type: 'connect-failed'; readonly endpoint: string; readonly error: Error | undefined }
  /** The client tries to connect again after `delay` milliseconds; `attempt` counts from 1. */
  | {
      readonly type: 'reconnecting'
      readonly endpoint: string
      readonly attempt: number
      readonly delay: number
    }
  /** An endpoint that failed too often gets no calls for `delay` milliseconds. */
  | { readonly type: 'ejected'; readonly endpoint: string; readonly delay: number }
  /** An ejected endpoint has answered single calls and gets all calls again. */
  | { readonly type: 'restored'; readonly endpoint: string }
  /** A call that failed with `error` is retried after `delay` milliseconds; `attempt` counts from 1. */
  | {
      readonly type: 'retry'
      readonly pattern: string
      readonly endpoint: string | undefined
      readonly attempt: number
      readonly delay: number
      readonly error: Error
      /**
       * The headers of the call: the same object that was passed to the call; `undefined` if the call has no headers.
       */
      readonly headers: MessageHeaders | undefined
    }
  /**
   * A server has refused an event after `emit` had resolved: it has no room or no handler for the event, does not accept
   * its data or credentials, or a handler has thrown an error for its sender.
   */
  | {
      readonly type: 'event-refused'
      readonly pattern: string
      readonly endpoint: string | undefined
      readonly error: Error
    }
  /** The list of endpoints has changed. */
  | { readonly type: 'endpoints'; readonly endpoints: readonly string[] }
  /** The lookup of endpoints failed; the known endpoints stay in use. */
  | { readonly type: 'resolve-failed'; readonly error: Error }

/** Receives the events of a client. An error that the listener throws is logged. */
export type ConnectionListener = (event: ConnectionEvent) => void

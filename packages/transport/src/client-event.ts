/** What a client transport tells of itself: its state, and what it does about failures. */

import type { Headers } from './headers.ts'

/**
 * `disconnected`: not connected, and nobody has called yet (or the client does not reconnect); `connecting`:
 * for the first time; `connected`: to one endpoint at least; `reconnecting`: it was connected and tries again;
 * `closed`: by `close()`, for good.
 */
export type ClientStatus = 'disconnected' | 'connecting' | 'connected' | 'reconnecting' | 'closed'

/** Something that happened to a client. Endpoints are named `host:port`. */
export type ClientEvent =
  | { readonly type: 'status'; readonly status: ClientStatus }
  /** A connection is made. */
  | { readonly type: 'connected'; readonly endpoint: string }
  /** A connection is over, or its server has said that it is going away. */
  | { readonly type: 'disconnected'; readonly endpoint: string; readonly error: Error | undefined }
  /** A connection could not be made. */
  | { readonly type: 'connect-failed'; readonly endpoint: string; readonly error: Error | undefined }
  /** The next connection is tried after `delay` milliseconds; `attempt` counts from 1. */
  | {
      readonly type: 'reconnecting'
      readonly endpoint: string
      readonly attempt: number
      readonly delay: number
    }
  /** An endpoint that failed too often gets no calls for `delay` milliseconds. */
  | { readonly type: 'ejected'; readonly endpoint: string; readonly delay: number }
  /** An ejected endpoint has answered and gets calls as before. */
  | { readonly type: 'restored'; readonly endpoint: string }
  /** A call that failed with `error` is made again after `delay` milliseconds; `attempt` counts from 1. */
  | {
      readonly type: 'retry'
      readonly pattern: string
      readonly endpoint: string | undefined
      readonly attempt: number
      readonly delay: number
      readonly error: Error
      /** The headers of the call, the very object it was made with; `undefined` if it has none. */
      readonly headers: Headers | undefined
    }
  /** The endpoints have changed. */
  | { readonly type: 'endpoints'; readonly endpoints: readonly string[] }
  /** The endpoints could not be found out; those known stay. */
  | { readonly type: 'resolve-failed'; readonly error: Error }

/** Takes the events of a client. It must not throw. */
export type ClientListener = (event: ClientEvent) => void

/**
 * The protocol between the tests and a peer, a small program around another RSocket library: one JSON object per
 * line, commands on standard input, events on standard output. A peer decides nothing: it runs commands with its
 * library, and reports the events of the library.
 *
 * `key` identifies the server, connection or stream of a command or event. Tests choose the keys of what they create;
 * the peer chooses the keys of what the other side creates. Data is base64.
 */

/** Interaction models. */
export type Kind = 'response' | 'stream' | 'channel' | 'event'

/** The credentials that a peer sends. */
export type PeerCredentials =
  | { readonly type: 'simple'; readonly username: string; readonly password: string }
  | { readonly type: 'bearer'; readonly token: string }

/** The composite metadata of a request. */
export interface RequestMetadata {
  readonly route: string
  /** An entry of type `application/json`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly credentials?: PeerCredentials
  /** The MIME type of this request's data, if it differs from that of the connection. */
  readonly dataMimeType?: string
}

/** The options of a client peer. */
export interface ConnectOptions {
  readonly dataMimeType?: string
  readonly fragmentSize?: number
  /** Milliseconds between KEEPALIVE frames, and milliseconds without one after which the server counts as lost. */
  readonly keepaliveInterval?: number
  readonly keepaliveLifetime?: number
  /** Whether the client waits for leases. */
  readonly lease?: boolean
  readonly resume?: boolean
  /** The credentials in SETUP. */
  readonly credentials?: PeerCredentials
}

/** The options of a server peer. */
export interface ListenOptions {
  readonly fragmentSize?: number
  /** Whether the server grants leases, one for each command `grant`. */
  readonly lease?: boolean
  readonly resume?: boolean
  /** Refuses every SETUP, with this message. */
  readonly refuse?: string
}

export type Command = { readonly key: string } & (
  | ({ readonly do: 'listen' } & ListenOptions)
  | ({ readonly do: 'connect'; readonly port: number } & ConnectOptions)
  /** Closes a server or a connection. */
  | { readonly do: 'close' }
  /**
   * Sends a request; `key` identifies the new stream. A channel stays open for more values unless it is `complete`.
   */
  | ({
      readonly do: 'open'
      readonly connection: string
      readonly kind: Kind
      readonly data: string
      readonly n: number
      readonly complete: boolean
    } & RequestMetadata)
  /** Sends a value on a stream. */
  | { readonly do: 'next'; readonly data: string; readonly complete: boolean }
  | { readonly do: 'complete' }
  | { readonly do: 'error'; readonly code: number; readonly message: string }
  /** Requests values on a stream. */
  | { readonly do: 'request'; readonly n: number }
  | { readonly do: 'cancel' }
  /** Sends METADATA_PUSH on a connection. */
  | { readonly do: 'push'; readonly data: string }
  /** Sends LEASE on a connection. */
  | { readonly do: 'grant'; readonly requests: number; readonly timeToLive: number }
)

export type PeerEvent = { readonly key: string } & (
  | { readonly on: 'listening'; readonly port: number }
  | { readonly on: 'connected' }
  /** A server has accepted a connection, and has chosen its key. */
  | {
      readonly on: 'accepted'
      readonly connection: string
      readonly dataMimeType: string
      readonly metadataMimeType: string
      readonly credentials?: PeerCredentials
    }
  /** A connection has ended; with a code if an ERROR frame said why. */
  | { readonly on: 'closed'; readonly code?: number; readonly message?: string }
  /** The other side of a connection (`key`) has sent a request; the peer has chosen the key of the stream. */
  | ({
      readonly on: 'requested'
      readonly stream: string
      readonly kind: Kind
      readonly data: string
    } & RequestMetadata)
  | { readonly on: 'next'; readonly data: string }
  | { readonly on: 'complete' }
  | { readonly on: 'error'; readonly code: number; readonly message: string }
  | { readonly on: 'request'; readonly n: number }
  | { readonly on: 'cancel' }
  | { readonly on: 'pushed'; readonly data: string }
  /** The library cannot do what a command asks for. */
  | { readonly on: 'failed'; readonly message: string }
)

/** An event of one type. */
export type EventOf<On extends PeerEvent['on']> = Extract<PeerEvent, { readonly on: On }>

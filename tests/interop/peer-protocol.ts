/**
 * The protocol between the tests and a peer, a small program around somebody else's RSocket: one
 * JSON object per line, commands on its standard input, events on its standard output. A peer decides nothing:
 * it does what it is told with its library, and tells what the library tells it.
 *
 * `key` names what a command or an event is about: a server, a connection or a stream. Tests name what they
 * make; what comes from the other side is named by the peer. Data is base64.
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
  /** The MIME type of this request's data, if it is not that of the connection. */
  readonly dataMimeType?: string
}

/** The options of a client peer. */
export interface ConnectOptions {
  readonly dataMimeType?: string
  readonly fragmentSize?: number
  /** Milliseconds between KEEPALIVE frames, and without any after which the server is taken for dead. */
  readonly keepaliveInterval?: number
  readonly keepaliveLifetime?: number
  /** Wait for leases. */
  readonly lease?: boolean
  readonly resume?: boolean
  /** Sent in SETUP. */
  readonly credentials?: PeerCredentials
}

/** The options of a server peer. */
export interface ListenOptions {
  readonly fragmentSize?: number
  /** Grant leases, one `grant` command at a time. */
  readonly lease?: boolean
  readonly resume?: boolean
  /** Refuse every SETUP, with these words. */
  readonly refuse?: string
}

export type Command = { readonly key: string } & (
  | ({ readonly do: 'listen' } & ListenOptions)
  | ({ readonly do: 'connect'; readonly port: number } & ConnectOptions)
  /** Ends a server or a connection. */
  | { readonly do: 'close' }
  /** Asks: `key` names the new stream. Channels stay open for more input unless it is `complete`. */
  | ({
      readonly do: 'open'
      readonly connection: string
      readonly kind: Kind
      readonly data: string
      readonly n: number
      readonly complete: boolean
    } & RequestMetadata)
  /** On a stream, as whichever side sends. */
  | { readonly do: 'next'; readonly data: string; readonly complete: boolean }
  | { readonly do: 'complete' }
  | { readonly do: 'error'; readonly code: number; readonly message: string }
  /** On a stream, as whichever side receives. */
  | { readonly do: 'request'; readonly n: number }
  | { readonly do: 'cancel' }
  /** METADATA_PUSH on a connection. */
  | { readonly do: 'push'; readonly data: string }
  /** LEASE on a connection. */
  | { readonly do: 'grant'; readonly requests: number; readonly timeToLive: number }
)

export type PeerEvent = { readonly key: string } & (
  | { readonly on: 'listening'; readonly port: number }
  | { readonly on: 'connected' }
  /** A server has taken a connection, and named it. */
  | {
      readonly on: 'accepted'
      readonly connection: string
      readonly dataMimeType: string
      readonly metadataMimeType: string
      readonly credentials?: PeerCredentials
    }
  /** A connection is over; with a code if an ERROR frame said why. */
  | { readonly on: 'closed'; readonly code?: number; readonly message?: string }
  /** The other side of a connection (`key`) asks; the peer has named the stream. */
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
  /** The library cannot do what a command says. */
  | { readonly on: 'failed'; readonly message: string }
)

/** An event of one type. */
export type EventOf<On extends PeerEvent['on']> = Extract<PeerEvent, { readonly on: On }>

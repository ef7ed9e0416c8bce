/** The interface between this library and a runtime's sockets. */
import type { Socket, SocketListener } from '@elysia-microservices/rsocket/session'
import type { TlsClientOptions, TlsServerOptions } from './tls.ts'

/** Called with a connected socket, after its TLS handshake; returns the listener of the socket. */
export type AcceptSocket = (socket: Socket) => SocketListener

/** A port of a host, or a Unix socket. */
export interface SocketAddress {
  /** Host name or address; empty for a Unix socket. */
  readonly host: string
  /** Port; 0 for a Unix socket. When listening, 0 lets the system choose a port. */
  readonly port: number
  /** Path of a Unix socket; `undefined` for a port. */
  readonly path?: string | undefined
}

/** The address at which to listen, and its options. */
export interface ListenAddress extends SocketAddress {
  /** Whether other processes may also listen on the port; the system distributes connections among them. */
  readonly reusePort?: boolean
  /** TLS options; `undefined`: no TLS. */
  readonly tls?: TlsServerOptions | undefined
  /** With TLS: the names of the protocols that are spoken, for ALPN. Default: none, and a client may ask for any. */
  readonly alpn?: readonly string[] | undefined
  /** Milliseconds that a TLS handshake may take; 0 for no limit. */
  readonly handshakeTimeout?: number
  /** Whether a peer with this address may begin a TLS handshake. Default: every peer may. */
  admits?(remoteAddress: string | undefined): boolean
  /**
   * Whether so many sockets may be in their TLS handshakes. If not, the one that has taken longest is closed. Default: any
   * number may.
   */
  mayHandshake?(handshaking: number): boolean
  /** A TLS handshake has failed, and the connection is closed. */
  handshakeFailed?(remoteAddress: string | undefined, error: Error): void
}

/** The address to which to connect, and its options. */
export interface ConnectAddress extends SocketAddress {
  /** TLS options; `undefined`: no TLS. */
  readonly tls?: TlsClientOptions | undefined
  /** With TLS: the names of the protocols that are spoken, for ALPN. Default: none. */
  readonly alpn?: readonly string[] | undefined
}

/** A listening port. */
export interface ListeningSocket {
  /** The address at which the port listens, with the real port. */
  readonly address: SocketAddress
  /** Number of sockets in their TLS handshakes. Default: 0. */
  readonly handshaking?: number
  /** Stops accepting connections. Accepted sockets stay open. */
  stop(): void
  /**
   * Changes the TLS options for new connections; open connections do not change. Throws if the options cannot be used.
   */
  reloadTls?(tls: TlsServerOptions): void
}

/** The sockets of one runtime. */
export interface SocketRuntime {
  /** Starts to accept connections. Rejects with the system's error, such as `EADDRINUSE`. */
  listen(address: ListenAddress, accept: AcceptSocket): Promise<ListeningSocket>
  /** Connects. Rejects with the system's error, such as `ECONNREFUSED`. Aborting the signal ends the attempt. */
  connect(address: ConnectAddress, accept: AcceptSocket, signal: AbortSignal): Promise<void>
}

/** The interface between this library and a runtime's sockets. */
import type { Socket, SocketListener } from '@elysia-microservices/rsocket/session'
import type { TlsClientOptions, TlsServerOptions } from './tls.ts'

/** Takes a connected socket, after its TLS handshake, and returns its listener. */
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

/** Where to listen, and how. */
export interface ListenAddress extends SocketAddress {
  /** Whether other processes may listen on the port too; the system spreads connections over them. */
  readonly reusePort?: boolean
  /** Speak TLS. */
  readonly tls?: TlsServerOptions | undefined
  /** Milliseconds that a TLS handshake may take; 0 for no limit. */
  readonly handshakeTimeout?: number
  /** Whether a peer with this address may begin a TLS handshake. Default: all may. */
  admits?(remoteAddress: string | undefined): boolean
  /** A TLS handshake has failed; the connection is closed. */
  handshakeFailed?(remoteAddress: string | undefined, error: Error): void
}

/** Where to connect, and how. */
export interface ConnectAddress extends SocketAddress {
  /** Speak TLS. */
  readonly tls?: TlsClientOptions | undefined
}

/** A listening port. */
export interface ListeningSocket {
  /** Where it listens, with the real port. */
  readonly address: SocketAddress
  /** Stops accepting. Accepted sockets stay as they are. */
  stop(): void
  /** Changes the TLS options for new connections; open ones stay as they are. Throws if they cannot be used. */
  reloadTls?(tls: TlsServerOptions): void
}

/** The sockets of one runtime. */
export interface SocketRuntime {
  /** Starts to accept. Rejects with the system's error, such as `EADDRINUSE`. */
  listen(address: ListenAddress, accept: AcceptSocket): Promise<ListeningSocket>
  /** Connects. Rejects with the system's error, such as `ECONNREFUSED`. Aborting ends the attempt. */
  connect(address: ConnectAddress, accept: AcceptSocket, signal: AbortSignal): Promise<void>
}

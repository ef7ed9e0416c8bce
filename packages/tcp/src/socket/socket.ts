/**
 * The interface between this library and a runtime's sockets. Sockets know no protocols: they carry bytes, tell how many
 * are unsent, and end.
 */
import type { PeerCertificate, TlsClientOptions, TlsServerOptions } from './tls.ts'

/** A connected byte stream. */
export interface Socket {
  /** Address of the peer; `undefined` for a socket that has none. */
  readonly remoteAddress: string | undefined
  /** Port of the peer; `undefined` for a socket that has none. */
  readonly remotePort: number | undefined
  /** Whether the socket uses TLS. Default: false. */
  readonly encrypted?: boolean
  /** The certificate that the peer sent; `undefined` if none. */
  readonly certificate?: PeerCertificate | undefined
  /** Bytes taken by `write` that the kernel has not taken yet. */
  readonly unsent: number
  /** Sends text as UTF-8, after everything written before. Bytes that cannot be sent now are kept and sent later. */
  write(text: string): void
  /** Sends the first `length` bytes in the same way. The caller may change them when the method returns. */
  writeBytes(bytes: Uint8Array, length: number): void
  /** Reads nothing more until `resume`, so that the peer is slowed. Bytes that were read already may still come. */
  pause(): void
  /** Reads again. Does nothing on a socket that is not paused, or closed. */
  resume(): void
  /** Sends FIN after everything written. Reading goes on until the peer ends too. */
  end(): void
  /** Closes at once; unsent bytes are lost. Does nothing on a closed socket. */
  destroy(): void
}

/** Gets the events of one socket. */
export interface SocketListener {
  /** Bytes have arrived. The chunk belongs to the listener from now on. */
  data(chunk: Uint8Array): void
  /**
   * The peer has ended its side. Sockets that end their own side right afterwards must call it; sockets that do so in a
   * later turn need not.
   */
  eof(): void
  /** `unsent` has become smaller, perhaps zero. */
  drain(): void
  /** The socket was closed by either side. Called once, as the last event. */
  close(error?: Error): void
}

/** The listener of a socket that is not used. */
export const NOBODY: SocketListener = { data() {}, eof() {}, drain() {}, close() {} }

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

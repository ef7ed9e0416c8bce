/**
 * The one small interface between this library and a runtime's sockets. Sockets know nothing of protocols:
 * they carry bytes, say how many are unsent, and end.
 */
import type { PeerCertificate, TlsClientOptions, TlsServerOptions } from './tls.ts'

/** A connected byte stream. */
export interface Socket {
  /** Address of the peer; `undefined` for a socket that has none. */
  readonly remoteAddress: string | undefined
  /** Port of the peer; `undefined` for a socket that has none. */
  readonly remotePort: number | undefined
  /** The bytes travel by TLS. Default: they do not. */
  readonly encrypted?: boolean
  /** The certificate the peer has shown; `undefined` if none. */
  readonly certificate?: PeerCertificate | undefined
  /** Bytes taken by `write` that the kernel has not taken yet. */
  readonly unsent: number
  /**
   * Sends text as UTF-8, after everything written before. What cannot leave now is kept and leaves later.
   */
  write(text: string): void
  /** Sends the first `length` bytes, likewise; they belong to the caller again when the method returns. */
  writeBytes(bytes: Uint8Array, length: number): void
  /** Sends FIN after everything written. Reading goes on until the peer ends too. */
  end(): void
  /** Closes at once. What is unsent is lost. Does nothing on a closed socket. */
  destroy(): void
}

/** Gets the events of one socket. */
export interface SocketListener {
  /** Bytes have arrived. The chunk belongs to the listener from now on. */
  data(chunk: Uint8Array): void
  /**
   * The peer has sent all it will. Called by sockets that end their own side when it returns; those that leave that
   * to the event loop's next turn need not.
   */
  eof(): void
  /** `unsent` has become smaller, maybe zero. */
  drain(): void
  /** The socket is closed, by whichever side. Called once, and nothing after it. */
  close(error?: Error): void
}

/** Listens to a socket that nobody wants. */
export const NOBODY: SocketListener = { data() {}, eof() {}, drain() {}, close() {} }

/** Takes a socket that has just been connected, its TLS handshake included, and says who listens to it. */
export type AcceptSocket = (socket: Socket) => SocketListener

/** A port of a host, or a Unix socket. */
export interface SocketAddress {
  /** Host name or address; empty for a Unix socket. */
  readonly host: string
  /** Port; when listening, 0 lets the system choose one. 0 for a Unix socket. */
  readonly port: number
  /** Path of a Unix socket; `undefined` for a port. */
  readonly path?: string | undefined
}

/** Where to listen, and how. */
export interface ListenAddress extends SocketAddress {
  /** Other processes may listen on the port too: the system spreads connections over them. */
  readonly reusePort?: boolean
  /** Speak TLS. */
  readonly tls?: TlsServerOptions | undefined
  /** Milliseconds a TLS handshake may take; 0 for no limit. */
  readonly handshakeTimeout?: number
  /** Whether a peer of this address is worth a TLS handshake. Default: all are. */
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
  /** Where it listens; the port is the real one. */
  readonly address: SocketAddress
  /** Stops accepting. Accepted sockets stay as they are. */
  stop(): void
  /** Gives new connections this TLS; those there are stay as they are. Throws if it cannot be used. */
  reloadTls?(tls: TlsServerOptions): void
}

/** The sockets of one runtime. */
export interface SocketRuntime {
  /** Starts to accept. Rejects with the system's error, such as `EADDRINUSE`. */
  listen(address: ListenAddress, accept: AcceptSocket): Promise<ListeningSocket>
  /** Connects. Rejects with the system's error, such as `ECONNREFUSED`. Aborting ends the attempt. */
  connect(address: ConnectAddress, accept: AcceptSocket, signal: AbortSignal): Promise<void>
}

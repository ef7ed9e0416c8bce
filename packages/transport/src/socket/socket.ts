/**
 * The one small interface between this library and a runtime's sockets. Sockets know nothing of protocols:
 * they carry bytes, say how many are unsent, and end.
 */

/** A connected byte stream. */
export interface Socket {
  /** Address of the peer; `undefined` for a socket that has none. */
  readonly remoteAddress: string | undefined
  /** Port of the peer; `undefined` for a socket that has none. */
  readonly remotePort: number | undefined
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
  /** Bytes have arrived. The chunk belongs to the listener until it returns. */
  data(chunk: Uint8Array): void
  /** `unsent` has become smaller, maybe zero. */
  drain(): void
  /** The socket is closed, by whichever side. Called once, and nothing after it. */
  close(error?: Error): void
}

/** Takes a socket that has just been connected and says who listens to it. */
export type AcceptSocket = (socket: Socket) => SocketListener

/** Where to listen or to connect. */
export interface SocketAddress {
  /** Host name or address. */
  readonly host: string
  /** Port; when listening, 0 lets the system choose one. */
  readonly port: number
}

/** A listening port. */
export interface ListeningSocket {
  /** Where it listens; the port is the real one. */
  readonly address: SocketAddress
  /** Stops accepting. Accepted sockets stay as they are. */
  stop(): void
}

/** The sockets of one runtime. */
export interface SocketRuntime {
  /** Starts to accept. Rejects with the system's error, such as `EADDRINUSE`. */
  listen(address: SocketAddress, accept: AcceptSocket): Promise<ListeningSocket>
  /** Connects. Rejects with the system's error, such as `ECONNREFUSED`. Aborting ends the attempt. */
  connect(address: SocketAddress, accept: AcceptSocket, signal: AbortSignal): Promise<void>
}

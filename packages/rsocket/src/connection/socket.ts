/**
 * The interface between a session and its socket, for any kind of socket. Sockets know no protocols: they carry bytes,
 * tell how many bytes are unsent, and end.
 */
import type { PeerCertificate } from '@elysia-microservices/transport/kit'

/** A connected byte stream. */
export interface Socket {
  /** Address of the peer; `undefined` if the socket has none. */
  readonly remoteAddress: string | undefined
  /** Port of the peer; `undefined` if the socket has none. */
  readonly remotePort: number | undefined
  /** Whether the socket uses TLS. Default: false. */
  readonly encrypted?: boolean
  /** The certificate that the peer has sent; `undefined` if it has sent none. */
  readonly certificate?: PeerCertificate | undefined
  /** Bytes that `write` has taken and the kernel has not. */
  readonly unsent: number
  /** Sends text as UTF-8, after all earlier writes. Bytes that cannot be sent now are stored and sent later. */
  write(text: string): void
  /**
   * Sends the first `length` bytes, after all earlier writes. The caller may change the bytes when the method has
   * returned.
   */
  writeBytes(bytes: Uint8Array, length: number): void
  /**
   * Reads no more until `resume`, so that the peer is slowed down. Bytes that were already read may still be delivered.
   */
  pause(): void
  /** Reads again. Does nothing on a socket that is closed or not paused. */
  resume(): void
  /** Sends FIN after all earlier writes. Reading continues until the peer ends its side too. */
  end(): void
  /** Closes at once; unsent bytes are lost. Does nothing on a closed socket. */
  destroy(): void
}

/** Receives the events of one socket. */
export interface SocketListener {
  /** Bytes have arrived. The chunk belongs to the listener from now on. */
  data(chunk: Uint8Array): void
  /**
   * The peer has ended its side. A socket that ends its own side right afterwards must call `eof`; a socket that ends
   * it in a later turn of the event loop need not.
   */
  eof(): void
  /** `unsent` has decreased, perhaps to zero. */
  drain(): void
  /** The socket was closed by either side. Called once, as the last event. */
  close(error?: Error): void
}

/** The listener of a socket that is not used. */
export const NOBODY: SocketListener = { data() {}, eof() {}, drain() {}, close() {} }

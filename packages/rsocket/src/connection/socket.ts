/**
 * The interface between a session and its socket, whatever that is. Sockets know no protocols: they carry bytes, tell
 * how many are unsent, and end.
 */
import type { PeerCertificate } from '@elysia-microservices/transport/kit'

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

/**
 * Listens for TLS, on both runtimes through `node:tls`. Bun's own sockets can change neither the certificate of a port
 * nor the lowest TLS version; see docs/decisions.md.
 */
import net from 'node:net'
import tls from 'node:tls'
import { attach, listenOn } from './node-socket.ts'
import type { AcceptSocket, ListenAddress, ListeningSocket, SocketAddress } from './socket.ts'
import type { TlsServerOptions } from './tls.ts'
import { TlsFailure, tlsFailureOf } from './tls-failure.ts'
import { contextOptions, TlsSocket } from './tls-socket.ts'

/** Stands for "no limit", which Node does not support: 24 days. */
const NO_LIMIT = 2 ** 31 - 1
/** First byte of a TLS handshake. */
const HANDSHAKE = 0x16
/** Milliseconds that a peer has for closing after it got the alert. */
const CLOSE_TIMEOUT = 2_000
/** The alert "fatal: protocol version", for peers that do not speak TLS. OpenSSL would close without an alert. */
const ALERT = Uint8Array.of(0x15, 3, 3, 0, 2, 2, 70)

/** Starts to listen for TLS. */
export async function listenTls(address: ListenAddress, accept: AcceptSocket): Promise<ListeningSocket> {
  const listener = new TlsListener(address, accept)
  await listener.open()
  return listener
}

/** A port or Unix socket for TLS. */
class TlsListener implements ListeningSocket {
  readonly #address: ListenAddress
  readonly #accept: AcceptSocket
  readonly #server: net.Server
  /**
   * Makes the handshakes. It does not listen itself but gets the sockets of `#server`, so that it can be replaced when
   * TLS options change.
   */
  #handshakes: tls.Server
  /** Sockets that have not finished their handshake. */
  readonly #handshaking = new Set<net.Socket>()
  #where: SocketAddress
  #stopped = false

  constructor(address: ListenAddress, accept: AcceptSocket) {
    this.#address = address
    this.#where = address
    this.#accept = accept
    this.#handshakes = this.#withContext(address.tls as TlsServerOptions)
    this.#server = net.createServer({ noDelay: true }, (socket) => this.#connected(socket))
  }

  get address(): SocketAddress {
    return this.#where
  }

  get handshaking(): number {
    return this.#handshaking.size
  }

  async open(): Promise<void> {
    this.#where = await listenOn(this.#server, this.#address)
  }

  reloadTls(options: TlsServerOptions): void {
    this.#handshakes = this.#withContext(options)
  }

  stop(): void {
    this.#server.close()
    this.#stopped = true
    for (const socket of this.#handshaking) socket.destroy()
  }

  #connected(socket: net.Socket): void {
    if (this.#address.admits?.(socket.remoteAddress) === false) {
      socket.destroy()
      return
    }
    const { handshakeTimeout = 0 } = this.#address
    const late = () => {
      const message = `no TLS handshake began within limits.handshake (${handshakeTimeout} ms)`
      this.#failed(socket, new TlsFailure('TLS_TIMEOUT', message))
      socket.destroy()
    }
    const timer = handshakeTimeout === 0 ? undefined : setTimeout(late, handshakeTimeout).unref()
    this.#handshaking.add(socket)
    if (this.#address.mayHandshake?.(this.#handshaking.size) === false) this.#dropOldest()
    socket.on('error', () => {})
    socket.once('close', () => {
      clearTimeout(timer)
      this.#handshaking.delete(socket)
    })
    socket.once('readable', () => {
      clearTimeout(timer)
      this.#begin(socket)
    })
  }

  /** Honest handshakes take some milliseconds, so the oldest one is most likely of a peer that never ends it. */
  #dropOldest(): void {
    const [oldest] = this.#handshaking
    if (oldest === undefined) return
    this.#handshaking.delete(oldest)
    oldest.destroy()
  }

  /** Starts the handshake, because the first bytes have arrived. */
  #begin(socket: net.Socket): void {
    const chunk = socket.read() as Buffer | null
    // The peer has closed without sending anything.
    if (chunk === null) return
    if (chunk[0] === HANDSHAKE) {
      socket.unshift(chunk)
      this.#handshakes.emit('connection', socket)
      return
    }
    this.#failed(socket, new TlsFailure('TLS_NOT_SPOKEN', 'the client does not speak TLS'))
    socket.end(ALERT)
    // Reads and drops further bytes, because closing with unread bytes would discard the alert.
    socket.resume()
    setTimeout(() => socket.destroy(), CLOSE_TIMEOUT).unref()
  }

  /** The handshake of a socket has ended. */
  #secured(socket: tls.TLSSocket): void {
    const raw = rawOf(socket)
    // If the socket below is unknown, handshakes of a stopping server end by their timeout.
    if (raw === undefined) this.#handshaking.clear()
    else this.#handshaking.delete(raw)
  }

  #failed(socket: net.Socket, error: Error): void {
    this.#address.handshakeFailed?.(socket.remoteAddress, error)
  }

  #withContext(options: TlsServerOptions): tls.Server {
    const { handshakeTimeout = 0, alpn } = this.#address
    const context = contextOptions(options)
    // Throws now if certificate or key is wrong; otherwise only the first connection would fail.
    tls.createSecureContext(context)
    const server = tls.createServer({
      ...context,
      ...(alpn && { ALPNProtocols: [...alpn] }),
      requestCert: options.requestCert === true,
      rejectUnauthorized: options.requestCert === true && options.rejectUnauthorized !== false,
      handshakeTimeout: handshakeTimeout === 0 ? NO_LIMIT : handshakeTimeout
    })
    server.on('secureConnection', (socket) => {
      this.#secured(socket)
      if (this.#stopped) socket.destroy()
      else attach(socket, new TlsSocket(socket), this.#accept)
    })
    server.on('tlsClientError', (error, socket) => {
      const { authorizationError } = socket
      const cause = authorizationError
        ? Object.assign(new Error(String(authorizationError)), { code: String(authorizationError) })
        : error
      // Only the socket below TLS still knows the address.
      this.#failed(rawOf(socket) ?? socket, tlsFailureOf(cause))
      socket.destroy()
    })
    return server
  }
}

/** The socket below TLS. Node and Bun both have this property, but do not document it. */
function rawOf(socket: tls.TLSSocket & { readonly _parent?: net.Socket }): net.Socket | undefined {
  return socket._parent
}

/**
 * Listens for connections and decides which ones are accepted: the socket file, TLS and its reloading, the allow-list.
 */

import { NOBODY, type Socket } from '@elysia-microservices/rsocket/session'
import { ListenError, type Logger, OptionError } from '@elysia-microservices/transport/kit'
import { type Source, serverTls } from '../options/security-options.ts'
import type { CheckedServerOptions } from '../options/server-options.ts'
import { nameOfPlace } from '../options/shared-options.ts'
import type { AcceptSocket, ListenAddress, ListeningSocket, SocketAddress } from '../socket/socket.ts'
import type { TlsServerOptions } from '../socket/tls.ts'
import { AllowList } from './allow-list.ts'
import { Refusals } from './refusals.ts'
import { SocketFile } from './socket-file.ts'

/** The address at which a server listens. */
export interface ListeningPlace extends SocketAddress {
  readonly reusePort: boolean
}

/** The listening port of a server, or its Unix socket. Can be opened again after it was closed. */
export class Listener {
  readonly #options: CheckedServerOptions
  readonly #logger: Logger
  readonly #alpn: readonly string[] | undefined
  /** The address at which the listener will listen. */
  place: ListeningPlace
  readonly #allow: AllowList | undefined
  readonly #refusals: Refusals
  #tls: Source<TlsServerOptions> | undefined
  #reloading: Promise<void> = Promise.resolve()
  #listening: ListeningSocket | undefined
  #file: SocketFile | undefined

  /**
   * @param alpn with TLS: the names of the protocols that are spoken. Default: none
   * @throws {OptionError} an entry of the allow-list is wrong
   */
  constructor(options: CheckedServerOptions, logger: Logger, alpn?: readonly string[]) {
    const { allow, tls } = options
    this.#alpn = alpn
    this.#options = options
    this.#logger = logger
    const { host, port, path, reusePort } = options
    this.place = { host, port, path, reusePort }
    this.#allow = allow === undefined ? undefined : new AllowList(allow)
    this.#refusals = new Refusals(logger)
    this.#tls = tls
  }

  get address(): SocketAddress | undefined {
    return this.#listening?.address
  }

  /** Number of connections in their TLS handshakes. */
  get handshaking(): number {
    return this.#listening?.handshaking ?? 0
  }

  /**
   * Starts to listen.
   * @param mayHandshake whether so many connections may be in their TLS handshakes
   * @throws {ListenError} the system does not allow to listen
   * @throws {OptionError} an option of TLS is wrong
   */
  async open(accept: AcceptSocket, mayHandshake: (handshaking: number) => boolean): Promise<void> {
    const { sockets } = this.#options
    const { path } = this.place
    try {
      const tls = this.#tls === undefined ? undefined : await serverTls(this.#tls)
      const file = path === undefined ? undefined : await SocketFile.claim(path, sockets)
      const address = { ...this.#addressFor(tls), mayHandshake }
      this.#listening = await sockets.listen(address, this.#guarded(accept, tls !== undefined))
      file?.listening()
      this.#file = file
    } catch (cause) {
      if (cause instanceof OptionError) throw cause
      throw new ListenError(nameOfPlace(this.place), cause as Error)
    }
  }

  /**
   * Listens for a moment, without sharing the port, and returns the address. Accepts no connection.
   * @throws {ListenError} the system does not allow to listen
   */
  async tryOut(): Promise<SocketAddress> {
    const { host, port } = this.place
    try {
      const listening = await this.#options.sockets.listen({ host, port, reusePort: false }, refuse)
      listening.stop()
      return listening.address
    } catch (cause) {
      throw new ListenError(nameOfPlace(this.place), cause as Error)
    }
  }

  /** Takes no more connections. Those that stand stay open. */
  close(): void {
    this.#file?.remove()
    this.#file = undefined
    this.#listening?.stop()
    this.#listening = undefined
  }

  /** See `TcpTransport.reloadTls`. */
  reloadTls(tls: Source<TlsServerOptions> | undefined): Promise<void> {
    // Reloads run one after the other, so that the certificate of the last reload is used.
    const reloaded = this.#reloading.then(() => this.#reload(tls ?? this.#tls, tls === undefined))
    this.#reloading = reloaded.catch(() => {})
    return reloaded
  }

  #addressFor(tls: TlsServerOptions | undefined): ListenAddress {
    const { host, port, path, reusePort } = this.place
    const { handshake: handshakeTimeout } = this.#options.limits
    if (tls === undefined) return { host, port, path, reusePort }
    return {
      host,
      port,
      path,
      reusePort,
      tls,
      alpn: this.#alpn,
      handshakeTimeout,
      admits: (remoteAddress) => this.#admits(remoteAddress),
      handshakeFailed: (remoteAddress, error) =>
        this.#refusals.report(remoteAddress, `failed in the TLS handshake: ${error.message}`)
    }
  }

  /** Checks address and encryption before `accept` is called; returns `accept` itself if there are no checks. */
  #guarded(accept: AcceptSocket, encrypted: boolean): AcceptSocket {
    if (this.#allow === undefined && !encrypted) return accept
    return (socket) => {
      if (!this.#admits(socket.remoteAddress)) return refuse(socket)
      if (!encrypted || socket.encrypted === true) return accept(socket)
      this.#logger.error('Closing a connection: options.sockets does not support TLS')
      return refuse(socket)
    }
  }

  #admits(remoteAddress: string | undefined): boolean {
    if (this.#allow === undefined || this.#allow.admits(remoteAddress)) return true
    this.#refusals.report(remoteAddress, 'was refused: the address is not one of options.allow')
    return false
  }

  async #reload(source: Source<TlsServerOptions> | undefined, again: boolean): Promise<void> {
    if (source === undefined || this.#tls === undefined)
      throw new OptionError('options.tls', 'reloadTls() needs options.tls to be set when the server is made')
    if (again && typeof source !== 'function')
      throw new OptionError(
        'tls',
        'reloadTls() needs the new TLS options as its argument, because options.tls is not a function'
      )
    const tls = await serverTls(source)
    if (this.#listening !== undefined) reload(this.#listening, tls)
    this.#tls = source
  }
}

function reload(listening: ListeningSocket, tls: TlsServerOptions): void {
  if (listening.reloadTls === undefined)
    throw new OptionError('options.sockets', 'options.sockets cannot reload TLS')
  try {
    listening.reloadTls(tls)
  } catch (error) {
    throw new OptionError('options.tls', `options.tls cannot be used: ${(error as Error).message}`, error)
  }
}

function refuse(socket: Socket) {
  // The socket is destroyed in a microtask, because the runtime must first get the listener of the socket.
  queueMicrotask(() => socket.destroy())
  return NOBODY
}

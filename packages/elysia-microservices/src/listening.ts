/** What a service does beside answering: it listens, stops, and takes another certificate. */
import type { SocketAddress, Source, TlsServerOptions } from '@elysia-microservices/transport'
import type { ListenOptions } from './options.ts'

/** A service that listens, without an app or before one does. */
export interface Listening {
  /**
   * Starts to listen, without an app or before one does. Does nothing if it listens already.
   * @throws {ListenError} the port is taken or not allowed
   */
  listen(where?: number | ListenOptions): Promise<this>

  /** Takes no more connections, lets work in flight end (see `drain`), closes. */
  stop(): Promise<void>

  /**
   * Gives new connections another certificate; those that are open live on with the old one. When it fails, the old
   * one stays.
   * @param tls the new one; needed unless `options.tls` is a function, which is called again
   * @throws {ValidationError} there is nothing to reload, or it cannot be used
   */
  reloadTls(tls?: Source<TlsServerOptions>): Promise<void>

  /** Where it listens, with the real port; `undefined` while it does not. */
  readonly address: SocketAddress | undefined
}

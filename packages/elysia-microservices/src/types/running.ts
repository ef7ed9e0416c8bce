/** What a service can do besides having handlers: listen, stop, tell how it is. */
import type { ServerStats, SocketAddress, Source, TlsServerOptions } from '@elysia-microservices/transport'
import type { ListenOptions } from '../options.ts'

/** A service that can run. */
export interface Running {
  /**
   * Starts to listen, without an app or before one does. Does nothing if it listens already.
   * @throws {ListenError} the port is taken or not allowed
   */
  listen(where?: number | ListenOptions): Promise<this>

  /**
   * Gives new connections another certificate; those that are open live on with the old one. When it fails, the old
   * one stays.
   * @param tls the new one; needed unless `options.tls` is a function, which is called again
   * @throws {ValidationError} there is nothing to reload, or it cannot be used
   */
  reloadTls(tls?: Source<TlsServerOptions>): Promise<void>

  /** Takes no more connections, lets work in flight end (see `drain`), closes. */
  stop(): Promise<void>

  /** What it does at the moment, next to its limits. Costs a look at each connection, and nothing before. */
  stats(): ServerStats

  /** Where it listens, with the real port; `undefined` while it does not. */
  readonly address: SocketAddress | undefined
}

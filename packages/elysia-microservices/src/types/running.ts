/** What a service can do besides having handlers: listen, stop, tell how it is. */
import type { ServerStats, SocketAddress, Source, TlsServerOptions } from '@elysia-microservices/transport'
import type { ListenOptions } from '../options.ts'
import type { Role } from '../workers/role.ts'
import type { WorkerFigures } from '../workers/supervisor.ts'

/** A service that can run. */
export interface Running {
  /**
   * Starts to listen, without an app or before one does. Does nothing if it listens already. A supervisor's resolves
   * when all workers listen.
   * @throws {ListenError} the port is taken or not allowed
   * @throws {WorkerError} with `workers`: one of them cannot start; no process is left then
   */
  listen(where?: number | ListenOptions): Promise<this>

  /**
   * Gives new connections another certificate, in a supervisor those of all workers; those that are open live on with
   * the old one. When it fails, the old one stays.
   * @param tls the new one; needed unless `options.tls` is a function, which is called again
   * @throws {ValidationError} there is nothing to reload, or it cannot be used
   */
  reloadTls(tls?: Source<TlsServerOptions>): Promise<void>

  /**
   * Takes no more connections, lets work in flight end (see `drain`), closes. A supervisor's resolves when all workers
   * have ended.
   */
  stop(): Promise<void>

  /**
   * What this process does at the moment, next to its limits. Costs a look at each connection, and nothing before. A
   * supervisor answers nothing: see `workers()`.
   */
  stats(): ServerStats

  /** What this process is: with `workers` the supervisor or one of the workers, else `'alone'`. */
  readonly role: Role

  /** In a supervisor: what each worker that listens does at the moment. Elsewhere: none. */
  workers(): Promise<readonly WorkerFigures[]>

  /**
   * In a supervisor: replaces the workers by new processes, one after the other, each when the new one listens. In a
   * worker it does nothing.
   * @throws {WorkerError} a new one cannot start: those that have not been replaced stay
   * @throws {ValidationError} the service has no workers
   */
  reload(): Promise<void>

  /** Where it listens, with the real port; `undefined` while it does not. */
  readonly address: SocketAddress | undefined
}

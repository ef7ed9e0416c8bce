/** What a service can do besides having handlers: listen, stop, tell how it is. */
import type { Address, TransportStats } from '@elysia-microservices/transport'
import type { Role } from '../workers/role.ts'
import type { WorkerFigures } from '../workers/supervisor.ts'

/** A service that can run. */
export interface Running {
  /**
   * Starts all transports, without an app or before one does; if one cannot start, none is. Does nothing if the service
   * listens already. A supervisor's resolves when all workers listen.
   * @throws {ListenError} the port is taken or not allowed
   * @throws {WorkerError} with `workers`: one of them cannot start; no process is left then
   */
  listen(): Promise<this>

  /**
   * Takes no more work, lets work in flight end (see `drain`), closes. A supervisor's resolves when all workers
   * have ended.
   */
  stop(): Promise<void>

  /**
   * Aborts when the service begins to stop, so that handlers of streams without an end can end them: `stop()` waits
   * for them. A service that another one uses stops with that one. After `listen()` it is a new signal.
   */
  readonly draining: AbortSignal

  /**
   * What each transport of this process does at the moment. Costs something only when it is asked. A supervisor answers
   * nothing: see `workers()`. `tcp().stats()` has the figures of TCP with their types.
   */
  stats(): readonly TransportStats[]

  /** What this process is: with `workers` the supervisor or one of the workers, else `'alone'`. */
  readonly role: Role

  /** In a supervisor: what each worker that listens does at the moment. Elsewhere: none. */
  workers(): Promise<readonly WorkerFigures[]>

  /**
   * In a supervisor: replaces the workers by new processes, one after the other, each when the new one listens. In a
   * worker it does nothing.
   * @throws {WorkerError} a new one cannot start: those that have not been replaced stay
   * @throws {OptionError} the service has no workers
   */
  restartWorkers(): Promise<void>

  /**
   * Where the first of its transports listens that has an address, with the real port; `undefined` while none does.
   */
  readonly address: Address | undefined
}

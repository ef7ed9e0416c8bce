/** The methods of a service that runs: it listens, stops, and describes itself. */
import type { Address, ServiceStatus } from '@elysia-microservices/transport'
import type { Role, WorkerFigures } from '@elysia-microservices/workers'
import type { DescribeOptions, ServiceDescription } from '../description/description.ts'
import type { AnyTransportStats } from '../short-form.ts'

/** A service that runs, or will. */
export interface Running {
  /**
   * Starts all transports, without an app or before the app does. If one cannot start, none stays started. Does
   * nothing if the service listens already. In a supervisor it resolves when all workers listen.
   * @throws {ListenError} the port is taken or not allowed
   * @throws {WorkerError} a worker cannot start; then no process is left
   */
  listen(): Promise<this>

  /**
   * Takes no more work, lets work in flight end (see `drain`), closes. In a supervisor it resolves when all workers
   * have ended.
   */
  stop(): Promise<void>

  /**
   * Aborts when the service begins to stop, so that handlers of streams without an end can end them: `stop()` waits
   * for them. A service that another one uses stops with that one. After `listen()` it is a new signal.
   */
  readonly draining: AbortSignal

  /**
   * The figures of each transport in this process, counted when they are asked for. A supervisor answers no messages:
   * see `workers()` there.
   */
  stats(): readonly AnyTransportStats[]

  /** The description of the service: its name, transports, and patterns with their schemas as JSON Schema. */
  describe(options?: DescribeOptions): ServiceDescription

  /** Whether it takes messages: `draining` from the call of `stop()` on. A supervisor has the status of its workers. */
  readonly status: ServiceStatus

  /** The role of this process: with `workers` the supervisor or one of the workers, else `'alone'`. */
  readonly role: Role

  /** In a supervisor: the figures of each worker that listens. Elsewhere an empty list. */
  workers(): Promise<readonly WorkerFigures<AnyTransportStats>[]>

  /**
   * In a supervisor: replaces the workers by new processes, one after the other, each when the new one listens. Called
   * while it replaces them, it makes another round after that. In a worker it does nothing.
   * @throws {WorkerError} a new process cannot start; the workers that are not replaced yet stay
   * @throws {OptionError} the service has no workers
   */
  restartWorkers(): Promise<void>

  /** The address of the first transport that has one, with the real port; `undefined` while none listens. */
  readonly address: Address | undefined
}

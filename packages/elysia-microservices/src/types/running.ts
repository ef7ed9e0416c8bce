/** The methods of a running service: to listen, to stop, and to describe itself. */
import type { Address, ServiceStatus } from '@elysia-microservices/transport'
import type { Role, WorkerFigures } from '@elysia-microservices/workers'
import type { DescribeOptions, ServiceDescription } from '../description/description.ts'
import type { AnyTransportStats } from '../short-form.ts'

/** The processes of a service with the option `workers`. */
export interface ServiceWorkers {
  /** The role of this process: with the option `workers` it is the supervisor or one of the workers, else `'alone'`. */
  readonly role: Role

  /** In a supervisor the figures of each worker that listens; in other processes an empty list. */
  figures(): Promise<readonly WorkerFigures<AnyTransportStats>[]>

  /**
   * In a supervisor: replaces the workers by new processes, one after the other; an old process is stopped when its
   * successor listens. A call during such a replacement starts another one after it. In a worker this method does
   * nothing.
   * @throws {WorkerError} a new process cannot start; the workers that are not replaced yet stay
   * @throws {OptionError} the service has no workers
   */
  restart(): Promise<void>
}

/** A service that runs or can be started. */
export interface Running {
  /** The option `name`; `undefined` without it. */
  readonly name: string | undefined

  /**
   * Starts all transports. Needed without an app, or to start before the app does. If a transport cannot start, the
   * others are stopped again. Does nothing if the service listens already. In a supervisor the promise resolves
   * when all workers listen.
   * @throws {ListenError} the port is taken or not allowed
   * @throws {WorkerError} a worker cannot start; then no process is left
   */
  listen(): Promise<this>

  /**
   * Takes no more work, lets work in flight end (see `drain`), and closes all connections. In a supervisor the
   * promise resolves when all workers have ended.
   */
  stop(): Promise<void>

  /** Stops the service at the end of a block: `await using orders = await service.listen()`. */
  [Symbol.asyncDispose](): Promise<void>

  /**
   * Aborts when the service begins to stop, so that handlers of endless streams can end them: `stop()` waits for
   * streams. If another service uses this one, the signal aborts when that service stops. Each `listen()` makes a
   * new signal.
   */
  readonly draining: AbortSignal

  /**
   * The figures of each transport in this process, counted now. A supervisor answers no messages: use
   * `workers.figures()` there.
   */
  stats(): readonly AnyTransportStats[]

  /** The description of the service: its name, transports, and patterns with their schemas as JSON Schema. */
  describe(options?: DescribeOptions): ServiceDescription

  /**
   * Whether the service takes messages; it is `draining` from the call of `stop()` on. A supervisor has the status
   * of its workers.
   */
  readonly status: ServiceStatus

  /** The processes of a service with the option `workers`. */
  readonly workers: ServiceWorkers

  /** The address of the first transport that has an address, with the real port; `undefined` while none listens. */
  readonly address: Address | undefined
}

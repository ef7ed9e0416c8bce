/**
 * The workers of a service, as the supervisor sees them: what they share, their processes, and the signals that
 * stop them.
 */
import type { Logger, ServerTransport } from '@elysia-microservices/transport/kit'
import { countOf, type Workers } from './option.ts'
import { stopOnSignals } from './signals.ts'
import { Supervisor, type SupervisorOptions, type WorkerFigures } from './supervisor.ts'
import { secondService } from './worker.ts'

/** The options of a group. */
export interface WorkerGroupOptions extends Pick<SupervisorOptions, 'drain' | 'logger' | 'leaving'> {
  readonly workers: Workers
  /** The transports of the service. The supervisor does not start them; the workers do. */
  readonly servers: readonly ServerTransport[]
  /** The service's name in log lines. */
  readonly title: string
  /** Stops the service. Called after a signal, or when no worker can be kept running. */
  stop(): Promise<void>
}

let isTaken = false

/** A group of processes that run this program and answer calls together. */
export class WorkerGroup {
  readonly #servers: readonly ServerTransport[]
  readonly #supervisor: Supervisor
  readonly #forgetSignals: () => void
  readonly #said: { readonly title: string; readonly logger: Logger }
  #signal: string | undefined

  private constructor(
    servers: readonly ServerTransport[],
    supervisor: Supervisor,
    forgetSignals: () => void,
    said: { readonly title: string; readonly logger: Logger }
  ) {
    this.#said = said
    this.#servers = servers
    this.#supervisor = supervisor
    this.#forgetSignals = forgetSignals
  }

  /**
   * Starts the workers; resolves when all of them listen.
   * @throws {ListenError} the port that the workers would share is taken or not allowed
   * @throws {WorkerError} a worker cannot start, or the service stops before all workers listen; then no worker is left
   * @throws {OptionError} this process has workers already, or is itself a worker of `node:cluster`
   */
  static async start(options: WorkerGroupOptions): Promise<WorkerGroup> {
    if (isTaken) throw secondService()
    isTaken = true
    const { servers, drain, logger, leaving, title, stop } = options
    let supervisor: Supervisor | undefined
    let group: WorkerGroup | undefined
    // The signals are listened to before the first worker starts: a signal during the start must leave no process
    // behind.
    let forgetSignals = () => {}
    try {
      const shared: unknown[] = []
      for (const [index, { sharing }] of servers.entries())
        shared.push(
          await sharing?.reserve(
            async (question) => void (await supervisor?.ask({ about: 'transport', index, question }))
          )
        )
      forgetSignals = stopOnSignals({
        signals: ['SIGTERM', 'SIGINT'],
        logger,
        stop(signal) {
          group?.told(signal)
          return stop()
        }
      })
      supervisor = await Supervisor.start({
        shared,
        count: await countOf(options.workers),
        drain,
        logger,
        leaving,
        async prepare(process) {
          for (const [index, { sharing }] of servers.entries()) {
            const question = sharing?.greeting()
            if (question !== undefined) await process.ask({ about: 'transport', index, question })
          }
        },
        gaveUp: () => void stop().then(() => process.exit(1))
      })
      group = new WorkerGroup(servers, supervisor, forgetSignals, { title, logger })
      return group
    } catch (error) {
      forgetSignals()
      releaseAll(servers)
      isTaken = false
      throw error
    }
  }

  /** See `service.workers.figures()`. */
  figures(): Promise<readonly WorkerFigures[]> {
    return this.#supervisor.figures()
  }

  /** See `service.workers.restart()`. */
  restart(): Promise<void> {
    return this.#supervisor.restart()
  }

  /** Called with the signal that is going to stop the group, for the log. */
  told(signal: string): void {
    this.#signal ??= signal
  }

  /** Stops all workers. Each worker logs what it has in flight. */
  async stop(): Promise<void> {
    const { title, logger } = this.#said
    const begun = performance.now()
    const why = this.#signal === undefined ? '' : `${this.#signal}: `
    logger.warn(`${why}${title} stops; workers: ${this.#supervisor.size}`)
    const killed = await this.#supervisor.stop()
    const time = Math.round(performance.now() - begun)
    const loss = killed === 0 ? '' : `; workers that did not end in time and were killed: ${killed}`
    logger.warn(`${title} has stopped after ${time} ms${loss}`)
    this.#forgetSignals()
    releaseAll(this.#servers)
    isTaken = false
  }
}

function releaseAll(servers: readonly ServerTransport[]): void {
  for (const { sharing } of servers) sharing?.release()
}

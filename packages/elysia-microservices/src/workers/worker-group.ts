/** The workers of a service, as the supervisor sees them: what they share, their processes, signals. */
import type { ServerTransport } from '@elysia-microservices/transport/kit'
import { countOf, type Workers } from './option.ts'
import { stopOnSignals } from './signals.ts'
import { Supervisor, type SupervisorOptions, type WorkerFigures } from './supervisor.ts'
import { secondService } from './worker.ts'

/** The options of a group. */
export interface WorkerGroupOptions extends Pick<SupervisorOptions, 'drain' | 'logger'> {
  readonly workers: Workers
  /** The transports of the service, which this process does not start. */
  readonly servers: readonly ServerTransport[]
  /** Stops the service: by a signal, or because no worker can be kept. */
  stop(): Promise<void>
}

let isTaken = false

/** Processes that run this program and answer together. */
export class WorkerGroup {
  readonly #servers: readonly ServerTransport[]
  readonly #supervisor: Supervisor
  readonly #forgetSignals: () => void

  private constructor(
    servers: readonly ServerTransport[],
    supervisor: Supervisor,
    forgetSignals: () => void
  ) {
    this.#servers = servers
    this.#supervisor = supervisor
    this.#forgetSignals = forgetSignals
  }

  /**
   * Starts the workers; resolves when all of them listen.
   * @throws {ListenError} the port that they would share is taken or not allowed
   * @throws {WorkerError} a worker cannot start; then none is left
   * @throws {OptionError} this process has workers already, or is one of `node:cluster`
   */
  static async start(options: WorkerGroupOptions): Promise<WorkerGroup> {
    if (isTaken) throw secondService()
    isTaken = true
    const { servers, drain, logger, stop } = options
    let supervisor: Supervisor | undefined
    // From the first worker on: a signal during the start must leave no process behind.
    let forgetSignals = () => {}
    try {
      const shared: unknown[] = []
      for (const [index, { sharing }] of servers.entries())
        shared.push(
          await sharing?.reserve(
            async (question) => void (await supervisor?.ask({ about: 'transport', index, question }))
          )
        )
      forgetSignals = stopOnSignals(stop)
      supervisor = await Supervisor.start({
        shared,
        count: await countOf(options.workers),
        drain,
        logger,
        async prepare(process) {
          for (const [index, { sharing }] of servers.entries()) {
            const question = sharing?.greeting()
            if (question !== undefined) await process.ask({ about: 'transport', index, question })
          }
        },
        gaveUp: () => void stop().then(() => process.exit(1))
      })
      return new WorkerGroup(servers, supervisor, forgetSignals)
    } catch (error) {
      forgetSignals()
      releaseAll(servers)
      isTaken = false
      throw error
    }
  }

  /** See `service.workers()`. */
  figures(): Promise<readonly WorkerFigures[]> {
    return this.#supervisor.figures()
  }

  /** See `service.restartWorkers()`. */
  restart(): Promise<void> {
    return this.#supervisor.restart()
  }

  async stop(): Promise<void> {
    await this.#supervisor.stop()
    this.#forgetSignals()
    releaseAll(this.#servers)
    isTaken = false
  }
}

function releaseAll(servers: readonly ServerTransport[]): void {
  for (const { sharing } of servers) sharing?.release()
}

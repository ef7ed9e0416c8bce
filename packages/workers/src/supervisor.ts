/** The supervisor: starts the workers of a service, replaces workers that have ended, and stops them all. */
import { type Logger, type TransportStats, WorkerError } from '@elysia-microservices/transport/kit'
import { type Launch, launcher } from './launch.ts'
import type { Question } from './messages.ts'
import { Restarts } from './restarts.ts'
import { environmentOf } from './role.ts'
import { WorkerProcess } from './worker-process.ts'

/** Milliseconds that a worker may take from its start until it listens. */
const START_TIMEOUT = 60_000
/** Milliseconds that a worker may take to end, in addition to `drain`. */
const END_TIMEOUT = 5_000

/** The options of a supervisor. */
export interface SupervisorOptions {
  readonly count: number
  /** One value for each transport of the service: the resource that the workers share, such as a port. */
  readonly shared: readonly unknown[]
  /** Milliseconds that work in flight may take when a worker stops. */
  readonly drain: number
  readonly logger: Logger
  /** Passes the state of the other workers on to a worker that has just begun to listen. */
  prepare(worker: WorkerProcess): Promise<unknown>
  /** Called when no worker is left and starting another is pointless. */
  gaveUp(): void
  /** Aborted when the service stops; matters only while the first workers start. */
  readonly leaving: AbortSignal
  /** Starts a process. Default: another one of this program. */
  readonly launch?: Launch | undefined
}

/** The figures of a worker. */
export interface WorkerFigures<Stats extends TransportStats = TransportStats> {
  /** The number of the worker, from 1. Its replacement has the same number. */
  readonly worker: number
  readonly pid: number
  /** The figures of the worker's transports; see `service.stats()`. */
  readonly stats: readonly Stats[]
}

/** The state of one worker number. When the worker's process ends, another process takes the same number. */
interface Place {
  readonly worker: number
  readonly restarts: Restarts
  current: WorkerProcess | undefined
  /** The timer until the next process is started. */
  pause: ReturnType<typeof setTimeout> | undefined
}

/** All workers of this process. */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #launch: Launch
  readonly #places: readonly Place[]
  readonly #living = new Set<WorkerProcess>()
  #restarting: Promise<void> | undefined
  /** The restart that begins when the running restart is complete. */
  #nextRestart: Promise<void> | undefined
  #isStopping = false

  private constructor(options: SupervisorOptions, launch: Launch) {
    this.#options = options
    this.#launch = launch
    this.#places = Array.from({ length: options.count }, (_, index) => ({
      worker: index + 1,
      restarts: new Restarts(Math.random),
      current: undefined,
      pause: undefined
    }))
  }

  /**
   * Starts all workers; resolves when all of them listen.
   * @throws {WorkerError} a worker cannot start, or the service is told to stop before all workers listen; then none is
   * left
   */
  static async start(options: SupervisorOptions): Promise<Supervisor> {
    const supervisor = new Supervisor(options, options.launch ?? (await launcher()))
    const { leaving } = options
    let left: Promise<void> | undefined
    const leave = () => {
      left = supervisor.stop().then(() => {})
    }
    leaving.addEventListener('abort', leave, { once: true })
    try {
      if (leaving.aborted) throw new WorkerError(1, undefined, 'it was told to stop before it had started')
      await Promise.all(supervisor.#places.map((place) => supervisor.#start(place)))
      if (left !== undefined)
        throw new WorkerError(1, undefined, 'it was told to stop when it had just started')
    } catch (error) {
      await (left ?? supervisor.#end((process) => process.kill()))
      throw error
    } finally {
      leaving.removeEventListener('abort', leave)
    }
    for (const place of supervisor.#places) supervisor.#watch(place, place.current as WorkerProcess)
    return supervisor
  }

  /** The figures of each worker that listens. */
  async figures(): Promise<readonly WorkerFigures[]> {
    const asked = this.#ready.map(async (process) => ({
      worker: process.worker,
      pid: process.pid as number,
      stats: (await process.ask({ about: 'stats' })) as readonly TransportStats[]
    }))
    // A process that ends before it answers is no longer a worker, so its figures are left out.
    const answers = await Promise.allSettled(asked)
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  }

  /** Sends a question to each worker that listens. Rejects if a worker fails to answer. */
  async ask(question: Question): Promise<void> {
    await Promise.all(this.#ready.map((process) => process.ask(question)))
  }

  /**
   * Replaces the process of each worker, one worker after the other; the old process is stopped when the new
   * process listens. If a restart is already running, a second restart follows it: the running one may have started
   * processes before this call, and such a process has not read files that changed in between.
   * @throws {WorkerError} a process cannot start; the workers that are not replaced yet stay
   */
  restart(): Promise<void> {
    const running = this.#restarting
    if (running === undefined) return this.#restartNow()
    this.#nextRestart ??= running
      .catch(() => {
        // The caller of the running restart gets its error.
      })
      .then(() => {
        this.#nextRestart = undefined
        return this.#restartNow()
      })
    return this.#nextRestart
  }

  #restartNow(): Promise<void> {
    this.#restarting = this.#restartAll().finally(() => {
      this.#restarting = undefined
    })
    return this.#restarting
  }

  /** The number of worker processes, including those that are just starting or stopping. */
  get size(): number {
    return this.#living.size
  }

  /**
   * Stops all workers after the work in flight. Resolves when no process is left, with the number of processes that
   * did not end in time and were killed.
   */
  async stop(): Promise<number> {
    let killed = 0
    await this.#end(async (process) => {
      // A worker that has never listened, such as a replacement, has no work in flight, and may never end by itself.
      if (!process.hasListened) process.kill()
      else if (!(await this.#stop(process))) killed++
    })
    return killed
  }

  get #ready(): readonly WorkerProcess[] {
    return this.#places.flatMap(({ current }) => (current?.isReady === true ? [current] : []))
  }

  /** Starts the first process of a worker; resolves when the process listens. */
  async #start(place: Place): Promise<void> {
    place.current = this.#newProcess(place.worker)
    await this.#prepared(place.current)
  }

  #newProcess(worker: number): WorkerProcess {
    const process = new WorkerProcess(
      worker,
      this.#launch(environmentOf({ worker, shared: this.#options.shared })),
      START_TIMEOUT
    )
    this.#living.add(process)
    void process.ended.then(() => this.#living.delete(process))
    return process
  }

  async #prepared(process: WorkerProcess): Promise<void> {
    await process.ready
    await this.#options.prepare(process)
    process.serves()
  }

  /** Starts another process when the process of a worker ends. */
  #watch(place: Place, process: WorkerProcess): void {
    void process.ended.then((end) => {
      if (place.current !== process) return
      place.current = undefined
      // Counted from when it was ready: one that loads for long and then fails at once has not lived.
      this.#startAnother(
        place,
        `Worker ${place.worker} (process ${process.pid}) has ended (${end})`,
        process.lifetime
      )
    })
  }

  /** @param lifetime milliseconds since the previous process was ready; 0 if it never was */
  #startAnother(place: Place, why: string, lifetime: number): void {
    if (this.#isStopping) return
    const { logger, gaveUp } = this.#options
    const delay = place.restarts.delayAfter(lifetime)
    if (place.restarts.isHopeless && this.#ready.length === 0) {
      logger.error(
        `${why} before or soon after it was ready, as the previous processes did, and no other worker is left: giving up`
      )
      return gaveUp()
    }
    logger.error(`${why}: starting another process in ${Math.round(delay)} ms`)
    place.pause = setTimeout(() => void this.#restart(place), delay)
  }

  async #restart(place: Place): Promise<void> {
    place.pause = undefined
    let process: WorkerProcess | undefined
    try {
      process = this.#newProcess(place.worker)
      place.current = process
      this.#watch(place, process)
      await this.#prepared(process)
    } catch (error) {
      const reason = (error as Error).message
      if (process === undefined)
        this.#startAnother(place, `Worker ${place.worker} has no process: ${reason}`, 0)
      else if (this.#living.has(process)) {
        // The end of a process is logged by `#watch()`. A process that runs and does not listen has to be killed
        // here.
        this.#options.logger.error(reason)
        process.kill()
      }
    }
  }

  async #restartAll(): Promise<void> {
    for (const place of this.#places) {
      if (this.#isStopping) return
      const next = this.#newProcess(place.worker)
      try {
        await this.#prepared(next)
      } catch (error) {
        next.kill()
        if (this.#isStopping) return
        throw error
      }
      // In the meantime a timer may have started another process for the same worker.
      clearTimeout(place.pause)
      const previous = place.current
      place.current = next
      this.#watch(place, next)
      if (previous !== undefined) await this.#stop(previous, true)
    }
  }

  /** Stops a process. @returns whether the process has ended in time by itself */
  async #stop(process: WorkerProcess, isReplaced = false): Promise<boolean> {
    const { drain, logger } = this.#options
    if (await process.stop(drain + END_TIMEOUT, isReplaced)) return true
    logger.error(`Worker ${process.worker} (process ${process.pid}) did not end in time and was killed`)
    return false
  }

  async #end(end: (process: WorkerProcess) => void | Promise<void>): Promise<void> {
    this.#isStopping = true
    for (const { pause } of this.#places) clearTimeout(pause)
    await Promise.all([...this.#living].map((process) => Promise.all([end(process), process.ended])))
  }
}

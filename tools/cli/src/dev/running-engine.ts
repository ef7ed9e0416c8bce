/** An engine that `dev` has started: its process, and whether it answers. */
import type { ProgramAction, ProgramView } from '@elysia-microservices/console'
import type { Downtime } from './downtime.ts'
import { answers, type FoundEngine } from './engines/index.ts'
import type { Guard } from './guarded.ts'
import type { Lines } from './lines.ts'
import { Log } from './log.ts'
import type { Start } from './process-group.ts'
import type { Program } from './program.ts'
import { Supervisor } from './supervisor.ts'

/** How many of an engine's last lines are shown if it ends by itself. */
const LAST_LINES = 3
/** Milliseconds that the clients of an engine that answers again have to connect, before it counts as up. */
const RECONNECTED = 2_000

/** The arguments from which an engine is made. */
export interface EngineInit {
  readonly found: FoundEngine
  readonly start: () => Promise<Start>
  readonly lines: Lines
  readonly grace: number
  readonly guard: Guard
  readonly downtime: Downtime
}

/** Runs one engine. */
export class RunningEngine implements Program {
  readonly name: string
  readonly log = new Log()
  readonly #found: FoundEngine
  readonly #downtime: Downtime
  readonly #supervisor: Supervisor
  #last: readonly string[] = []
  #readySince: number | undefined
  #isStopping = false
  /** When it has ended, in the time of `performance.now()`; `undefined`: it answers, or has not answered yet. */
  #lostAt: number | undefined
  /** Why the engine cannot be started: a further attempt would fail in the same way. */
  #failure: Error | undefined

  constructor({ found, start, lines, grace, guard, downtime }: EngineInit) {
    const { name } = found.engine
    this.name = name
    this.#found = found
    this.#downtime = downtime
    this.#supervisor = new Supervisor(
      {
        name,
        isWatched: false,
        start: () =>
          start().catch((error: Error) => {
            this.#failure = error
            throw error
          }),
        lines: (texts) => {
          this.log.add(texts)
          this.#last = [...this.#last, ...texts].slice(-LAST_LINES)
        },
        say: (text) => {
          if (this.#failure !== undefined) return
          lines.say(text)
          for (const line of this.#last) lines.add(name, line)
          this.#last = []
        },
        starting: () => {
          this.#readySince = undefined
        },
        started: () => void this.#waitUntilItAnswers(),
        ended: ({ signal }) => {
          if (!this.#isStopping) this.#lost()
          // An engine that was killed has said nothing about that.
          if (signal !== null) this.#last = []
        },
        readySince: () => this.#readySince,
        cause: () => undefined,
        isFull: false,
        onRoom() {}
      },
      grace,
      guard
    )
  }

  /** Starts the engine; resolves when it answers. @throws {Error} it cannot be started */
  async start(): Promise<void> {
    this.#supervisor.start()
    await answers(this.#found, () => this.#isStopping || this.#failure !== undefined)
    if (this.#failure !== undefined) throw this.#failure
  }

  stop(): Promise<boolean> {
    this.#isStopping = true
    return this.#supervisor.stop()
  }

  kill(): void {
    this.#isStopping = true
    this.#supervisor.kill()
  }

  act(action: ProgramAction): void {
    this.#supervisor.act(action)
  }

  view(): ProgramView {
    return {
      ...this.#supervisor.view(this.#readySince !== undefined),
      name: this.name,
      ports: [`${this.#found.port}`],
      services: []
    }
  }

  environment(): readonly (readonly [string, string])[] {
    return []
  }

  async #waitUntilItAnswers(): Promise<void> {
    const { pid } = this.#supervisor
    await answers(this.#found, () => this.#isStopping || this.#supervisor.pid !== pid)
    if (this.#isStopping || this.#supervisor.pid !== pid) return
    this.#readySince = performance.now()
    this.#last = []
    if (this.#lostAt !== undefined)
      this.#supervisor.sayReady(
        `${this.name} answers again after ${((performance.now() - this.#lostAt) / 1_000).toFixed(1)} s`
      )
    this.#lostAt = undefined
    // Its clients need a moment to connect again, and each says so.
    setTimeout(() => this.#downtime.up(this.name), RECONNECTED).unref()
  }

  #lost(): void {
    if (this.#readySince !== undefined) this.#lostAt ??= performance.now()
    const { engine, port } = this.#found
    this.#downtime.down(this.name, new RegExp(`:${port}\\b|\\b${engine.title}\\b`))
  }
}

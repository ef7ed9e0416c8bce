/** Whether a server is ready for calls: it listens, does not drain, and the checks of its user pass. */
import { type Logger, QuietLog, shown } from '@elysia-microservices/transport/kit'
import type { CheckedHealth } from '../options/health-options.ts'

/** The state of one server. */
export class Readiness {
  readonly #checks: CheckedHealth['checks']
  readonly #checkTimeout: number
  readonly #log: QuietLog
  /** The server stops, and takes no more calls. */
  isStopping = false
  /** The checks that run: all questions that come meanwhile share them, so that many probes do not cause many queries. */
  #running: Promise<boolean> | undefined

  constructor({ checks, checkTimeout }: CheckedHealth, logger: Logger, now: () => number) {
    this.#checks = checks
    this.#checkTimeout = checkTimeout
    this.#log = new QuietLog(logger, now)
  }

  /** Whether the answer can change while the server neither starts nor stops. */
  get hasChecks(): boolean {
    return this.#checks.length > 0
  }

  /** Whether the server takes calls now. Never rejects. */
  async isReady(): Promise<boolean> {
    if (this.isStopping) return false
    if (!this.hasChecks) return true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    const passed = await this.#running
    return passed && !this.isStopping
  }

  async #run(): Promise<boolean> {
    const passed = await Promise.all(this.#checks.map(([name, check]) => this.#passes(name, check)))
    return passed.every(Boolean)
  }

  async #passes(name: string, check: () => unknown): Promise<boolean> {
    let late: ReturnType<typeof setTimeout> | undefined
    const tooLate = new Promise<never>((_, reject) => {
      late = setTimeout(
        () => reject(new Error(`no answer within ${this.#checkTimeout} ms`)),
        this.#checkTimeout
      )
    })
    try {
      const result = await Promise.race([(async () => check())(), tooLate])
      if (result !== false) return true
      this.#log.warn(name, `Not ready: the check '${name}' says no`)
    } catch (error) {
      this.#log.warn(name, `Not ready: the check '${name}' has failed: ${reasonOf(error)}`)
    } finally {
      clearTimeout(late)
    }
    return false
  }
}

/** The text of what a check has thrown. Anything can be thrown, also what cannot be read. */
function reasonOf(error: unknown): string {
  try {
    return shown(error instanceof Error ? error.message : String(error))
  } catch {
    return 'the reason cannot be read'
  }
}

/**
 * Starts and stops the parts of a service with it, in the order of its chain: hooks, parts, and the services that it
 * uses.
 */
import { type Logger, OptionError } from '@elysia-microservices/transport/kit'

/**
 * Something that starts and stops with a service: `service.use(part)`. A relay of an outbox is one, and so is a client.
 * One that has neither `start`, `stop` nor `close` is refused.
 */
export interface ServicePart {
  /** Called before the service takes messages; it is waited for. */
  start?(): unknown
  /** Called when the last message has ended; it is waited for. */
  stop?(): unknown
  /** Called in its place where there is no `stop`. */
  close?(): unknown
}

/** A start or stop hook. It gets the decorators and the store. */
export type LifeHook = (context: object) => unknown

interface Step {
  readonly name: string
  readonly start?: LifeHook | undefined
  readonly stop?: LifeHook | undefined
}

/** The settings of a stop. */
export interface LifeEnd {
  readonly context: object
  /** Milliseconds that all hooks together may take. */
  readonly time: number
  /** The service in words. */
  readonly title: string
  readonly logger: Logger
}

/** The steps of one service. Several services may use it: the first starts it, the last stops it. */
export class Life {
  readonly #steps: (Step | Life)[] = []
  #users = 0
  /** Steps that have been started: the others have nothing to stop. */
  #reached = 0
  #starting: Promise<void> | undefined

  /** @throws {OptionError} it is no function */
  addHook(kind: 'start' | 'stop', hook: unknown): void {
    const method = kind === 'start' ? 'onStart' : 'onStop'
    if (typeof hook !== 'function') throw OptionError.expected(`The hook of ${method}()`, 'a function', hook)
    const name = hook.name === '' ? `${method}()` : `${method}(${hook.name})`
    this.#steps.push({ name, [kind]: hook as LifeHook })
  }

  addPart(part: ServicePart): void {
    const name = `a part (${part.constructor?.name || 'object'})`
    this.#steps.push({
      name,
      start: () => part.start?.(),
      stop: () => (part.stop === undefined ? part.close?.() : part.stop())
    })
  }

  /** Takes over another service's steps, those that it gets later included. */
  include(other: Life): void {
    if (other !== this && !this.#steps.includes(other)) this.#steps.push(other)
  }

  /** Runs what starts, one after the other. Rejects with the first failure; then `stop` stops what was reached. */
  async start(context: object): Promise<void> {
    this.#users++
    this.#starting ??= this.#start(context)
    await this.#starting
  }

  /** Runs what stops, one after the other, and waits for it. What fails, or takes too long, is logged. */
  async stop(end: LifeEnd): Promise<void> {
    const { time, title, logger } = end
    const at = { name: '', isOver: false }
    let late: ReturnType<typeof setTimeout> | undefined
    const isLate = new Promise<void>((resolve) => {
      late = setTimeout(() => {
        at.isOver = true
        logger.error(`${title} stops before ${at.name} has ended, which took longer than ${time} ms`)
        resolve()
      }, time)
    })
    await Promise.race([this.#stop(end, at), isLate])
    clearTimeout(late)
  }

  async #start(context: object): Promise<void> {
    this.#reached = 0
    for (const step of this.#steps) {
      this.#reached++
      await step.start?.(context)
    }
  }

  async #stop(end: LifeEnd, at: { name: string; isOver: boolean }): Promise<void> {
    if (this.#users === 0 || --this.#users > 0) return
    this.#starting = undefined
    for (const step of this.#steps.slice(0, this.#reached)) {
      if (at.isOver) return
      if (step instanceof Life) await step.#stop(end, at)
      else if (step.stop !== undefined) {
        at.name = step.name
        try {
          await step.stop(end.context)
        } catch (error) {
          end.logger.error(`${end.title}: ${step.name} has failed`, error)
        }
      }
    }
  }
}

/** Whether `use()` was given something that starts or stops. */
export function isPart(given: unknown): given is ServicePart {
  if (typeof given !== 'object' || given === null) return false
  const { start, stop, close } = given as ServicePart
  return [start, stop, close].some((method) => typeof method === 'function')
}

/** Starts and stops hooks, parts and used services together with a service, in the order of its chain. */
import { type Logger, OptionError } from '@elysia-microservices/transport/kit'
import type { Environment } from '../hooks/environment.ts'
import { lifeContext } from '../hooks/surroundings.ts'

/**
 * Something that starts and stops with a service: `service.use(part)`. The relay of an outbox is a part, and so is
 * a client. Several services may use one part: it starts with the first of them, and stops with the last. An object
 * that has neither `start`, `stop` nor `close` is refused.
 */
export interface ServicePart {
  /** Called before the service takes messages. Its promise is awaited. */
  start?(): unknown
  /** Called when the last message has ended. Its promise is awaited. */
  stop?(): unknown
  /** Called if the part has no `stop`, in place of it. */
  close?(): unknown
}

/** A start or stop hook. Its argument has the decorators and the store. */
export type LifeHook = (context: object) => unknown

interface Step {
  readonly name: string
  readonly start?: LifeHook | undefined
  readonly stop?: LifeHook | undefined
}

/** The settings of a stop. */
export interface LifeEnd {
  /** Milliseconds that all stop hooks together may take. */
  readonly time: number
  /** The service's name in log lines. */
  readonly title: string
  readonly logger: Logger
}

/**
 * The steps of one service. Several services may share these steps: the first one starts them, the last one stops
 * them.
 */
export class Life {
  readonly #environment: Environment
  readonly #steps: (Step | Life)[] = []
  /** The argument of the hooks, since the start. */
  #context: object = {}
  #users = 0
  /** How many steps have been started. The remaining steps need not be stopped. */
  #reached = 0
  #starting: Promise<void> | undefined

  constructor(environment: Environment) {
    this.#environment = environment
  }

  /** Adds a start or stop hook. @throws {OptionError} the hook is not a function */
  addHook(kind: 'start' | 'stop', hook: unknown): void {
    const method = kind === 'start' ? 'onStart' : 'onStop'
    if (typeof hook !== 'function') throw OptionError.expected(`The hook of ${method}()`, 'a function', hook)
    const name = hook.name === '' ? `${method}()` : `${method}(${hook.name})`
    this.#steps.push({ name, [kind]: hook as LifeHook })
  }

  addPart(part: ServicePart): void {
    const name = `a part (${part.constructor?.name || 'object'})`
    this.#steps.push({ name, start: () => startPart(part), stop: () => stopPart(part) })
  }

  /** Takes over the steps of another service, including those that are added to it later. */
  include(other: Life): void {
    if (other !== this && !this.#steps.includes(other)) this.#steps.push(other)
  }

  /**
   * Starts the steps one after the other. Rejects with the first failure; `stop` then stops the steps that have
   * been started.
   * @param above the environments of the services that use this one, the outermost first
   */
  async start(...above: readonly Environment[]): Promise<void> {
    this.#users++
    this.#starting ??= this.#start(above)
    await this.#starting
  }

  /** Stops the steps one after the other and waits for them. A step that fails or takes too long is logged. */
  async stop(end: LifeEnd): Promise<void> {
    const { time, title, logger } = end
    const at = { name: '', isOver: false }
    let late: ReturnType<typeof setTimeout> | undefined
    const isLate = new Promise<void>((resolve) => {
      late = setTimeout(() => {
        at.isOver = true
        logger.error(
          `${title} stops without waiting longer for ${at.name}, which has not ended within ${time} ms`
        )
        resolve()
      }, time)
    })
    await Promise.race([this.#stop(end, at), isLate])
    clearTimeout(late)
  }

  async #start(above: readonly Environment[]): Promise<void> {
    const all = [...above, this.#environment]
    this.#reached = 0
    this.#context = lifeContext(all)
    for (const step of this.#steps) {
      this.#reached++
      if (step instanceof Life) await step.start(...all)
      else await step.start?.(this.#context)
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
          await step.stop(this.#context)
        } catch (error) {
          end.logger.error(`${end.title}: ${step.name} has failed`, error)
        }
      }
    }
  }
}

/** The started parts, each with the number of running services that use it. */
const started = new WeakMap<ServicePart, { users: number; start: unknown }>()

/** The first service that uses a part starts it. */
function startPart(part: ServicePart): unknown {
  const running = started.get(part)
  if (running !== undefined) {
    running.users++
    return running.start
  }
  const first = { users: 1, start: undefined as unknown }
  started.set(part, first)
  first.start = part.start?.()
  return first.start
}

/** The last service that uses a part stops it. */
function stopPart(part: ServicePart): unknown {
  const running = started.get(part)
  if (running === undefined || --running.users > 0) return undefined
  started.delete(part)
  return part.stop === undefined ? part.close?.() : part.stop()
}

/** Whether the argument of `use()` is a part. */
export function isPart(given: unknown): given is ServicePart {
  if (typeof given !== 'object' || given === null) return false
  const { start, stop, close } = given as ServicePart
  return [start, stop, close].some((method) => typeof method === 'function')
}

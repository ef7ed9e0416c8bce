/**
 * Fault injection: stands between the transport and the handlers of a service that asks for it, and hits some
 * of the messages. A service without it has nothing there.
 */
import {
  type Dispatcher,
  type IncomingMessage,
  type Logger,
  NO_HANDLER,
  PatternNotFoundError,
  RpcError
} from '@elysia-microservices/transport'
import { Fate, type Fault } from './fate.ts'
import { type ChaosOptions, checkChaos, type Rule } from './options.ts'

/** The faults of one service. */
export class Chaos {
  readonly #seed: number
  readonly #rules: readonly Rule[]
  readonly #logger: Logger

  /** @throws {ValidationError} an option is not what it must be, or this is production */
  constructor(options: ChaosOptions, logger: Logger) {
    const { seed, rules } = checkChaos(options)
    this.#seed = seed
    this.#rules = rules
    this.#logger = logger
  }

  /** Injects faults from here on, and says so. */
  around(dispatcher: Dispatcher): Dispatcher {
    const seed = `seed ${this.#seed}`
    const rules = this.#rules.map((rule) => `\n  ${describeRule(rule)}`).join('')
    this.#logger.warn(`CHAOS: this service injects faults into its own messages (${seed}):${rules}`)
    return new ChaosDispatcher(dispatcher, new Fate(this.#seed, this.#rules), this.#logger)
  }
}

class ChaosDispatcher implements Dispatcher {
  readonly #inner: Dispatcher
  readonly #fate: Fate
  readonly #logger: Logger

  constructor(inner: Dispatcher, fate: Fate, logger: Logger) {
    this.#inner = inner
    this.#fate = fate
    this.#logger = logger
  }

  request(message: IncomingMessage): unknown {
    const fault = this.#fate.of(message.route)
    if (fault === undefined) return this.#inner.request(message)
    return fault.latency === 0 ? this.#hit(message, fault) : this.#hitLater(message, fault)
  }

  event(message: IncomingMessage): void | Promise<void> {
    const fault = this.#fate.of(message.route)
    if (fault === undefined) return this.#inner.event(message)
    if (fault.latency === 0) return this.#hitEvent(message, fault)
    return pause(fault.latency).then(() => this.#hitEvent(message, fault))
  }

  #hit(message: IncomingMessage, { drop, error }: Fault): unknown {
    if (drop) message.connection.destroy?.()
    if (error !== undefined) throw new RpcError(error)
    return this.#inner.request(message)
  }

  async #hitLater(message: IncomingMessage, fault: Fault): Promise<unknown> {
    await pause(fault.latency)
    const result = await this.#hit(message, fault)
    // Protocols look for it among values only, not in promises.
    if (result === NO_HANDLER)
      throw new PatternNotFoundError(`There is no handler of the pattern '${message.pattern}'`)
    return result
  }

  #hitEvent(message: IncomingMessage, { drop, error }: Fault): void | Promise<void> {
    if (drop) message.connection.destroy?.()
    if (error === undefined) return this.#inner.event(message)
    this.#logger.warn(`CHAOS: no handler of the event '${message.pattern}' is called`)
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

function describeRule({ patterns, probability, latency: [least, most], error, drop }: Rule): string {
  const what = [
    most > 0 ? `latency ${least === most ? least : `${least} to ${most}`} ms` : [],
    error === undefined ? [] : `error ${error.code ?? error.message}`,
    drop ? 'dropped connection' : []
  ].flat()
  const where = patterns === undefined ? 'all messages' : [patterns].flat().map(describePattern).join(', ')
  return `${where}: ${what.join(', ')}, with probability ${probability}`
}

function describePattern(pattern: unknown): string {
  return typeof pattern === 'object' && !(pattern instanceof RegExp)
    ? JSON.stringify(pattern)
    : String(pattern)
}

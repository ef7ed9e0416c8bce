/**
 * Fault injection: a middleware that hits some of the messages of a service. A service without the option `chaos` has
 * no such middleware.
 */
import {
  type Handle,
  type Logger,
  type Middleware,
  type ReceivedMessage,
  RpcError
} from '@elysia-microservices/transport'
import { Fate, type Fault } from './fate.ts'
import { type ChaosOptions, checkChaos, type Rule } from './options.ts'

/** The faults of one service. */
export class Chaos {
  readonly #seed: number
  readonly #rules: readonly Rule[]
  readonly #logger: Logger
  #hasSaidNoDrop = false

  /** @throws {OptionError} an option is invalid, or `NODE_ENV` is `'production'` */
  constructor(options: ChaosOptions, logger: Logger) {
    const { seed, rules } = checkChaos(options)
    this.#seed = seed
    this.#rules = rules
    this.#logger = logger
  }

  /** Injects faults. Logs the rules when the service starts. */
  readonly middleware: Middleware<ReceivedMessage> = (next) => {
    const seed = `seed ${this.#seed}`
    const rules = this.#rules.map((rule) => `\n  ${describeRule(rule)}`).join('')
    this.#logger.warn(`CHAOS: this service injects faults into its own messages (${seed}):${rules}`)
    const fate = new Fate(this.#seed, this.#rules)
    return (message) => {
      const fault = fate.of(message.route)
      if (fault === undefined) return next(message)
      if (fault.latency === 0) return this.#hit(message, fault, next)
      return pause(fault.latency).then(() => this.#hit(message, fault, next))
    }
  }

  #hit(message: ReceivedMessage, { drop, error }: Fault, next: Handle<ReceivedMessage>): unknown {
    if (drop) this.#drop(message)
    if (error === undefined) return next(message)
    if (message.kind === 'request') throw new RpcError(error)
    this.#logger.warn(`CHAOS: no handler of the event '${message.pattern}' is called`)
    return undefined
  }

  #drop({ peer, transport }: ReceivedMessage): void {
    if (peer !== undefined) return peer.disconnect()
    if (this.#hasSaidNoDrop) return
    this.#hasSaidNoDrop = true
    this.#logger.warn(`CHAOS: drop has no effect over ${transport}, which has no connections`)
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

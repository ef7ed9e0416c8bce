/** The options of fault injection: the form that users write, and the checked form that the code uses. */
import {
  checkNames,
  mustBeBoolean,
  OptionError,
  type RpcErrorInit
} from '@elysia-microservices/transport/kit'
import { type Patterns, parsePattern, patternList } from '../router/handler-pattern.ts'

/** One kind of fault. A rule has at least one of `latency`, `error` and `drop`, or several together. */
export interface ChaosRule {
  /** The patterns whose messages this rule may hit, in any form that a handler's pattern has. Default: all. */
  readonly pattern?: Patterns | undefined
  /** Probability that a message is hit: from 0 to 1. */
  readonly probability: number
  /** Milliseconds that the message waits first: a fixed number, or a random one from `least` to `most`. */
  readonly latency?: number | readonly [least: number, most: number] | undefined
  /**
   * The caller gets an error, and the handler is not called. `true`: an error with the code `CHAOS`; a text: an
   * error with that code and this message. For an event its handlers are not called, and the log says so.
   */
  readonly error?: boolean | string | RpcErrorInit | undefined
  /** The connection is closed when the handler is called: the handler does its work, but its answer is lost. */
  readonly drop?: boolean | undefined
}

/** Options of `chaos`. */
export interface ChaosOptions {
  /**
   * A whole number that decides which messages of a rule are hit, counted from the start of the service: the same
   * seed hits the same messages. Default: a random number, which is written to the log.
   */
  readonly seed?: number | undefined
  /** The rules. A message gets the fault of the first rule that hits it. */
  readonly rules: readonly ChaosRule[]
  /** Allows fault injection where `NODE_ENV` is `'production'`. Default: `false`. */
  readonly allowInProduction?: boolean | undefined
}

const NAMES = ['seed', 'rules', 'allowInProduction'] as const satisfies readonly (keyof ChaosOptions)[]
const RULE_NAMES = [
  'pattern',
  'probability',
  'latency',
  'error',
  'drop'
] as const satisfies readonly (keyof ChaosRule)[]
const DEFAULT_ERROR = { code: 'CHAOS', message: 'An error that the option chaos has injected' }

/** A rule with its defaults filled in. */
export interface Rule {
  readonly patterns: Patterns | undefined
  readonly probability: number
  readonly latency: readonly [number, number]
  readonly error: RpcErrorInit | undefined
  readonly drop: boolean
}

/**
 * Checks the options and fills in defaults. @throws {OptionError} an option is invalid, or `NODE_ENV` is
 * `'production'`
 */
export function checkChaos(options: ChaosOptions): {
  readonly seed: number
  readonly rules: readonly Rule[]
} {
  checkNames('options.chaos', options, NAMES)
  if (process.env['NODE_ENV'] === 'production' && options.allowInProduction !== true) {
    throw new OptionError(
      'options.chaos',
      "options.chaos is refused where NODE_ENV is 'production', unless options.chaos.allowInProduction is true"
    )
  }
  if (options.allowInProduction !== undefined)
    mustBeBoolean('options.chaos.allowInProduction', options.allowInProduction)
  const { seed = Math.floor(Math.random() * 2 ** 32), rules } = options
  if (!Number.isSafeInteger(seed)) throw OptionError.expected('options.chaos.seed', 'a whole number', seed)
  if (!Array.isArray(rules)) throw OptionError.expected('options.chaos.rules', 'a list of rules', rules)
  return {
    seed,
    rules: rules.map((rule: ChaosRule, index) => checkRule(rule, `options.chaos.rules[${index}]`))
  }
}

function checkRule(rule: ChaosRule, path: string): Rule {
  checkNames(path, rule, RULE_NAMES)
  const { pattern, probability, drop = false } = rule
  if (!(typeof probability === 'number' && probability >= 0 && probability <= 1))
    throw OptionError.expected(`${path}.probability`, 'a number from 0 to 1', probability)
  if (pattern !== undefined) for (const one of patternList(pattern)) parsePattern(one)
  const latency = checkLatency(rule.latency, `${path}.latency`)
  const error = errorOf(rule.error, `${path}.error`)
  mustBeBoolean(`${path}.drop`, drop)
  if (latency[1] === 0 && error === undefined && !drop)
    throw OptionError.expected(path, 'a rule with latency, error or drop', rule)
  return { patterns: pattern, probability, latency, error, drop }
}

function checkLatency(latency: ChaosRule['latency'] = 0, path: string): readonly [number, number] {
  const [least, most] =
    typeof latency === 'number' ? [latency, latency] : Array.isArray(latency) ? latency : []
  if (least !== undefined && most !== undefined && least >= 0 && most >= least && most < 2 ** 31)
    return [least, most]
  throw OptionError.expected(path, 'milliseconds, or [least, most] milliseconds', latency)
}

function errorOf(error: ChaosRule['error'], path: string): RpcErrorInit | undefined {
  if (error === undefined || error === false) return undefined
  if (error === true) return DEFAULT_ERROR
  if (typeof error === 'string') return { ...DEFAULT_ERROR, message: error }
  if (typeof error === 'object' && error !== null) return error
  throw OptionError.expected(path, 'true, a message, or the code and message of an error', error)
}

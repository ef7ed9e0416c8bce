/** The options of what a client does about servers that fail, with their defaults in one table. */

import { atLeast, type BackoffOptions, OptionError, withDefaults } from '@elysia-microservices/transport/kit'
import type { HealthOptions } from '../balance/endpoint-health.ts'
import type { RetryBudgetOptions } from '../balance/retry-budget.ts'

/** How a lost connection is made again. Pauses are random, up to a bound that doubles with each attempt. */
export interface ReconnectOptions {
  /** Milliseconds that the first pause lasts at most. Default: 100. */
  readonly minDelay?: number | undefined
  /** Milliseconds that no pause exceeds: a server that is back is used again within them. Default: 1,000. */
  readonly maxDelay?: number | undefined
}

/** How calls are made again. Pauses are random, up to a bound that doubles with each attempt. */
export interface RetryOptions {
  /** How often a call is made in all. Default: 3. */
  readonly attempts?: number | undefined
  /** Milliseconds that the first pause lasts at most. Another endpoint is tried without a pause. Default: 50. */
  readonly minDelay?: number | undefined
  /** Milliseconds that no pause exceeds. Default: 1,000. */
  readonly maxDelay?: number | undefined
  /** How many retries there may be, of all calls together. Beyond it calls fail at once. */
  readonly budget?: RetryBudget | undefined
}

/** How many retries there may be. */
export interface RetryBudget {
  /** Retries for each call. Default: 0.2. */
  readonly ratio?: number | undefined
  /** Retries in each second beside them. Default: 10. */
  readonly perSecond?: number | undefined
}

/** When an endpoint, one of several, gets no calls for a while. */
export interface EjectOptions {
  /** Failures (connections lost, timeouts, refusals) within the window. Default: 5. */
  readonly failures?: number | undefined
  /** Share of the window's calls that must have failed too, from 0 to 1. Default: 0.5. */
  readonly ratio?: number | undefined
  /** Milliseconds for which calls and failures are counted. Default: 10,000. */
  readonly window?: number | undefined
  /** Milliseconds of the first ejection, at most; it doubles with each in a row. Default: 1,000. */
  readonly minDelay?: number | undefined
  /** Milliseconds of the longest ejection. Default: 30,000. */
  readonly maxDelay?: number | undefined
}

/** Where the servers are, and what to do when they fail. */
export interface ResilienceOptions {
  /**
   * Servers of the service, in place of `host`: `'host:port'`, `'[::1]:port'`, or `'host'` with the port of
   * `port`. `'dns:host:port'` stands for all addresses the name has, and `'srv:_math._tcp.example.com'` for the servers
   * that SRV records name (calls go to those of the lowest priority number of which one can be used, in shares by
   * their weights, RFC 2782); both are asked for again and again. A function gives the list, and is called again every
   * `resolveInterval`. A connection is made to each.
   */
  readonly endpoints?: readonly string[] | (() => readonly string[] | Promise<readonly string[]>) | undefined
  /**
   * How many connections there are to each endpoint, from 1 to 1,024. Calls go to the less busy of two. One carries
   * as much as one process answers; more are for a service of several processes on one port (`workers`), each of
   * which has connections of its own. Events keep their order within a connection, so with several give those that
   * belong together the same `key`. Default: 1.
   */
  readonly connections?: number | undefined
  /** Milliseconds after which names and functions are asked again; a lost connection asks too. Default: 30,000. */
  readonly resolveInterval?: number | undefined
  /** Make a lost connection again at once, not only when somebody calls. Default: true. */
  readonly reconnect?: boolean | ReconnectOptions | undefined
  /**
   * Make calls again that have certainly not run (never sent, or refused with `REJECTED`), and those marked
   * `idempotent` when their connection is lost. Streams only before their first value. Default: true.
   */
  readonly retry?: boolean | RetryOptions | undefined
  /** Give no calls for a while to an endpoint that fails, where there are several. Default: true. */
  readonly eject?: boolean | EjectOptions | undefined
}

/** Options of resilience as they are used; `undefined` is off. */
export interface CheckedResilience {
  readonly connections: number
  readonly endpoints: NonNullable<ResilienceOptions['endpoints']> | undefined
  readonly resolveInterval: number
  readonly reconnect: BackoffOptions | undefined
  readonly retry: CheckedRetry | undefined
  readonly eject: HealthOptions | undefined
}

/** Options of retries as they are used. */
export interface CheckedRetry extends BackoffOptions {
  readonly attempts: number
  readonly budget: RetryBudgetOptions
}

const MAX_CONNECTIONS = 1_024
const RECONNECT: BackoffOptions = { minDelay: 100, maxDelay: 1_000 }
const RETRY = { attempts: 3, minDelay: 50, maxDelay: 1_000, budget: undefined }
const BUDGET: RetryBudgetOptions = { ratio: 0.2, perSecond: 10 }
const EJECT: HealthOptions = { failures: 5, ratio: 0.5, window: 10_000, minDelay: 1_000, maxDelay: 30_000 }

/** What a client does where its options are silent. */
export const RESILIENCE_DEFAULTS = {
  endpoints: undefined,
  connections: 1,
  resolveInterval: 30_000,
  reconnect: true as NonNullable<ResilienceOptions['reconnect']>,
  retry: true as NonNullable<ResilienceOptions['retry']>,
  eject: true as NonNullable<ResilienceOptions['eject']>
}

/** @throws {OptionError} an option is not what it must be */
export function resilienceOptions(
  given: Pick<ResilienceOptions, 'endpoints'> & {
    readonly connections: number
    readonly resolveInterval: number
    readonly reconnect: boolean | ReconnectOptions
    readonly retry: boolean | RetryOptions
    readonly eject: boolean | EjectOptions
  }
): CheckedResilience {
  const { endpoints, connections, resolveInterval } = given
  if (endpoints !== undefined && typeof endpoints !== 'function')
    if (!Array.isArray(endpoints) || endpoints.length === 0)
      throw OptionError.expected(
        'options.endpoints',
        'a list of one endpoint or more, or a function',
        endpoints
      )
  atLeast(1, 'options.resolveInterval', resolveInterval)
  if (!Number.isInteger(connections) || connections < 1 || connections > MAX_CONNECTIONS)
    throw OptionError.expected(
      'options.connections',
      `a whole number from 1 to ${MAX_CONNECTIONS}`,
      connections
    )
  return {
    connections,
    endpoints,
    resolveInterval,
    reconnect: given.reconnect === false ? undefined : delays('reconnect', given.reconnect, RECONNECT),
    retry: retryOptions(given.retry),
    eject: ejectOptions(given.eject)
  }
}

function retryOptions(given: boolean | RetryOptions): CheckedRetry | undefined {
  if (given === false) return undefined
  const { budget, ...all } = delays('retry', given, RETRY)
  atLeast(1, 'options.retry.attempts', all.attempts)
  const checked = withDefaults('options.retry.budget', budget as RetryBudget | undefined, BUDGET)
  atLeast(0, 'options.retry.budget.ratio', checked.ratio)
  atLeast(0, 'options.retry.budget.perSecond', checked.perSecond)
  return { ...all, budget: checked as RetryBudgetOptions }
}

function ejectOptions(given: boolean | EjectOptions): HealthOptions | undefined {
  if (given === false) return undefined
  const all = delays('eject', given, EJECT)
  atLeast(1, 'options.eject.failures', all.failures)
  atLeast(0, 'options.eject.ratio', all.ratio)
  atLeast(1, 'options.eject.window', all.window)
  return all
}

/** Options with two bounds of a delay; `true` stands for the defaults. */
function delays<Defaults extends BackoffOptions>(
  name: string,
  given: true | object,
  defaults: Defaults
): Defaults {
  const all = withDefaults(`options.${name}`, given === true ? {} : given, defaults) as unknown as Defaults
  atLeast(0, `options.${name}.minDelay`, all.minDelay)
  atLeast(all.minDelay, `options.${name}.maxDelay`, all.maxDelay)
  return all
}

/** Options for how a client reacts when servers fail, with their defaults in one table. */

import {
  atLeast,
  type BackoffOptions,
  type CheckedRetry,
  DEFAULT_RETRY,
  milliseconds,
  OptionError,
  withDefaults
} from '@elysia-microservices/transport/kit'
import type { HealthOptions } from '../balance/endpoint-health.ts'

/** Options of reconnecting. Pauses are random, up to a bound that doubles with each attempt. */
export interface ReconnectOptions {
  /** Longest first pause, in milliseconds. Default: 100. */
  readonly minDelay?: number | undefined
  /** Longest pause of all, in milliseconds. It limits how long a server that is back stays unused. Default: 1,000. */
  readonly maxDelay?: number | undefined
}

/** Options of retries. Pauses are random, up to a bound that doubles with each attempt. */
export interface RetryOptions {
  /** Most attempts of a call, the first included. Default: 3. */
  readonly attempts?: number | undefined
  /** Longest first pause, in milliseconds. Another endpoint is tried without a pause. Default: 50. */
  readonly minDelay?: number | undefined
  /** Longest pause of all, in milliseconds. Default: 1,000. */
  readonly maxDelay?: number | undefined
  /** Most retries of all calls together. When the budget is used up, calls fail at once. */
  readonly budget?: RetryBudget | undefined
}

/** The number of retries allowed: `ratio` per call, and `perSecond` in addition. */
export interface RetryBudget {
  /** Retries per call. Default: 0.2. */
  readonly ratio?: number | undefined
  /** Further retries per second. Default: 10. */
  readonly perSecond?: number | undefined
}

/** Options of ejection: when an endpoint among several is ejected, so that it gets no calls for a while. */
export interface EjectOptions {
  /** Number of failures (timeouts, refusals) within the window. Default: 5. */
  readonly failures?: number | undefined
  /** Share of the calls in the window that must also have failed, from 0 to 1. Default: 0.5. */
  readonly ratio?: number | undefined
  /** Length of the window in which calls and failures are counted, in milliseconds. Default: 10,000. */
  readonly window?: number | undefined
  /** Longest first ejection, in milliseconds; it doubles with each ejection in a row. Default: 1,000. */
  readonly minDelay?: number | undefined
  /** Longest ejection of all, in milliseconds. Default: 30,000. */
  readonly maxDelay?: number | undefined
}

/** The addresses of the servers, and how the client reacts when they fail. */
export interface ResilienceOptions {
  /**
   * Where the servers are, one or several, in place of `host`: `'tcp://host:port'`, also without `tcp://`, or without a
   * port, which is then the option `port`.
   * `'dns:host:port'` means all addresses of the name. `'srv:_math._tcp.example.com'` means the servers in its SRV
   * records: calls go to usable servers with the lowest priority number, shared by weight (RFC 2782). A function
   * returns the list. Names are looked up and functions are called again every `resolveInterval`. Each endpoint gets a
   * connection.
   */
  readonly url?:
    | string
    | readonly string[]
    | (() => readonly string[] | Promise<readonly string[]>)
    | undefined
  /**
   * Number of connections to each endpoint, from 1 to 1,024; a call goes to the less busy of two connections. One
   * connection carries as much as one process can answer. Set more for a service of several processes on one port
   * (`workers`), because each connection ends at one process. Order is kept within a connection only, so give the same
   * `key` to events that must stay in order.
   * Default: 1.
   */
  readonly connections?: number | undefined
  /**
   * Milliseconds between two lookups of names and functions; a lost connection also causes a lookup. Default: 30,000.
   */
  readonly resolveInterval?: number | undefined
  /** Whether the client restores a lost connection by itself, not only at the next call. Default: true. */
  readonly reconnect?: boolean | ReconnectOptions | undefined
  /**
   * Whether the client retries calls that have certainly not run (never sent, or refused with `REJECTED`), and after a
   * lost connection also calls marked `idempotent`. Streams are retried only before their first value. Default: true.
   */
  readonly retry?: boolean | RetryOptions | undefined
  /** Whether an endpoint among several that fails gets no calls for a while. Default: true. */
  readonly eject?: boolean | EjectOptions | undefined
}

/** Checked options of resilience; `undefined` means that the feature is off. */
export interface CheckedResilience {
  readonly connections: number
  readonly endpoints: readonly string[] | (() => readonly string[] | Promise<readonly string[]>) | undefined
  readonly resolveInterval: number
  readonly reconnect: BackoffOptions | undefined
  readonly retry: CheckedRetry | undefined
  readonly eject: HealthOptions | undefined
}

const MAX_CONNECTIONS = 1_024
const RECONNECT: BackoffOptions = { minDelay: 100, maxDelay: 1_000 }
const EJECT: HealthOptions = { failures: 5, ratio: 0.5, window: 10_000, minDelay: 1_000, maxDelay: 30_000 }

/** The defaults of resilience. */
export const RESILIENCE_DEFAULTS = {
  url: undefined,
  connections: 1,
  resolveInterval: 30_000,
  reconnect: true as NonNullable<ResilienceOptions['reconnect']>,
  retry: true as NonNullable<ResilienceOptions['retry']>,
  eject: true as NonNullable<ResilienceOptions['eject']>
}

/** @throws {OptionError} an option has a wrong value or an unknown name */
export function resilienceOptions(
  given: Pick<ResilienceOptions, 'url'> & {
    readonly connections: number
    readonly resolveInterval: number
    readonly reconnect: boolean | ReconnectOptions
    readonly retry: boolean | RetryOptions
    readonly eject: boolean | EjectOptions
  }
): CheckedResilience {
  const { url, connections, resolveInterval } = given
  const endpoints = typeof url === 'string' ? [url] : url
  if (endpoints !== undefined && typeof endpoints !== 'function')
    if (!Array.isArray(endpoints) || endpoints.length === 0)
      throw OptionError.expected(
        'options.url',
        'an address, a list of addresses, or a function that returns such a list',
        url
      )
  milliseconds(1, 'options.resolveInterval', resolveInterval)
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
  const { budget, ...all } = delays('retry', given, { ...DEFAULT_RETRY, budget: undefined })
  atLeast(1, 'options.retry.attempts', all.attempts)
  const checked = withDefaults(
    'options.retry.budget',
    budget as RetryBudget | undefined,
    DEFAULT_RETRY.budget
  )
  atLeast(0, 'options.retry.budget.ratio', checked.ratio)
  atLeast(0, 'options.retry.budget.perSecond', checked.perSecond)
  return { ...all, budget: checked as CheckedRetry['budget'] }
}

function ejectOptions(given: boolean | EjectOptions): HealthOptions | undefined {
  if (given === false) return undefined
  const all = delays('eject', given, EJECT)
  atLeast(1, 'options.eject.failures', all.failures)
  const { ratio } = all
  if (typeof ratio !== 'number' || !(ratio >= 0 && ratio <= 1))
    throw OptionError.expected('options.eject.ratio', 'a number from 0 to 1', ratio)
  atLeast(1, 'options.eject.window', all.window)
  return all
}

/** Checks options with a shortest and a longest delay; `true` means the defaults. */
function delays<Defaults extends BackoffOptions>(
  name: string,
  given: true | object,
  defaults: Defaults
): Defaults {
  const all = withDefaults(`options.${name}`, given === true ? {} : given, defaults) as unknown as Defaults
  milliseconds(0, `options.${name}.minDelay`, all.minDelay)
  milliseconds(all.minDelay, `options.${name}.maxDelay`, all.maxDelay)
  return all
}

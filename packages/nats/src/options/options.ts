/** The options of `nats()`. */
import { checkNames, OptionError } from '@elysia-microservices/transport/kit'
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import { Inboxes } from '../words/inboxes.ts'
import { type DurableStorage, durableStorage, type NatsDurableOptions } from './durable-options.ts'

/** Options of the driver that are passed on as they are, with its own meaning. */
const DRIVER_OPTIONS = [
  'authenticator',
  'debug',
  'ignoreClusterUpdates',
  'inboxPrefix',
  'maxPingOut',
  'name',
  'noRandomize',
  'pass',
  'pingInterval',
  'port',
  'reconnectDelayHandler',
  'reconnectJitter',
  'reconnectJitterTLS',
  'reconnectTimeWait',
  'resolve',
  'servers',
  'timeout',
  'tls',
  'token',
  'user'
] as const satisfies readonly (keyof NodeConnectionOptions)[]

/** Options of `nats()`: those of NATS's driver for the connection, and ours. */
export interface NatsOptions extends Pick<NodeConnectionOptions, (typeof DRIVER_OPTIONS)[number]> {
  /**
   * The queue group of a service: its processes share what comes. Default: the service's name. A service without a name
   * shares requests with all such services, and gets every event.
   */
  readonly queue?: string | undefined
  /** Whether `one` process of the queue group gets an event, or `all` processes. Default: `one`. */
  readonly events?: 'one' | 'all' | undefined
  /**
   * Prefixes of the inboxes of others, beside `_INBOX` and what begins with `_INBOX_`, and `inboxPrefix`: nothing is ever
   * answered elsewhere. Default: none.
   */
  readonly inboxPrefixes?: readonly string[] | undefined
  /** How durable events are stored, which needs JetStream. Default: in files, for 7 days. */
  readonly durable?: NatsDurableOptions | undefined
}

/** What is checked of them. */
export interface CheckedOptions {
  readonly queue: string | undefined
  readonly events: 'one' | 'all'
  readonly durable: DurableStorage
  readonly connection: NodeConnectionOptions
  readonly inboxes: Inboxes
}

/** Milliseconds, for the driver: it gives up after ten attempts and notices a dead server after minutes otherwise. */
const DEFAULTS: NodeConnectionOptions = {
  reconnectTimeWait: 250,
  reconnectJitter: 250,
  pingInterval: 10_000,
  timeout: 10_000
}

/** What a user may not change: an end that gives up reconnecting is deaf for ever. */
const FIXED: NodeConnectionOptions = {
  reconnect: true,
  maxReconnectAttempts: -1,
  waitOnFirstConnect: false,
  ignoreAuthErrorAbort: true,
  noAsyncTraces: true
}

/** @throws {OptionError} an option is invalid */
export function natsOptions(given: NatsOptions): CheckedOptions {
  checkNames('options', given, ['queue', 'events', 'durable', 'inboxPrefixes', ...DRIVER_OPTIONS])
  const { queue, events = 'one', durable, inboxPrefixes = [], ...driver } = given
  if (queue !== undefined && !(typeof queue === 'string' && /^\S+$/.test(queue)))
    throw OptionError.expected('options.queue', 'a text without blanks', queue)
  if (events !== 'one' && events !== 'all')
    throw OptionError.expected('options.events', "'one' or 'all'", events)
  for (const prefix of [inboxPrefixes, driver.inboxPrefix ?? []].flat())
    if (typeof prefix !== 'string' || !/^[^\s*>.$]+(\.[^\s*>.$]+)*$/.test(prefix) || prefix === '_ELYSIA')
      throw OptionError.expected(
        Array.isArray(inboxPrefixes) ? 'options.inboxPrefix(es)' : 'options.inboxPrefixes',
        "a subject without wildcards such as '_INBOX_orders'",
        prefix
      )
  const { servers } = driver
  const list = typeof servers === 'string' ? [servers] : (servers ?? [])
  if (!Array.isArray(list) || list.some((server) => typeof server !== 'string' || server === ''))
    throw OptionError.expected(
      'options.servers',
      "an address such as 'nats://localhost:4222', or a list of such",
      servers
    )
  const set = Object.fromEntries(Object.entries(driver).filter(([, value]) => value !== undefined))
  const inboxes = new Inboxes(driver.inboxPrefix, inboxPrefixes)
  return {
    queue,
    events,
    durable: durableStorage(durable),
    connection: { ...DEFAULTS, ...set, ...FIXED },
    inboxes
  }
}

/** The options of `nats()`. */
import { CONNECT_TIMEOUT, EVENTS, QUEUE } from '@elysia-microservices/engine'
import {
  type FromTable,
  mustBe,
  type OptionTable,
  readTable,
  withoutUndefined
} from '@elysia-microservices/transport/kit'
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import { Inboxes } from '../words/inboxes.ts'
import { type DurableStorage, durableStorage, type NatsDurableOptions } from './durable-options.ts'

/** Options that are passed on to the driver unchanged. */
type PassedOn =
  | 'authenticator'
  | 'debug'
  | 'ignoreClusterUpdates'
  | 'inboxPrefix'
  | 'maxPingOut'
  | 'name'
  | 'noRandomize'
  | 'pass'
  | 'pingInterval'
  | 'port'
  | 'reconnectDelayHandler'
  | 'reconnectJitter'
  | 'reconnectJitterTLS'
  | 'reconnectTimeWait'
  | 'resolve'
  | 'servers'
  | 'tls'
  | 'token'
  | 'user'

/** The options of `nats()`: those of NATS's driver for the connection, and those of this library. */
export interface NatsOptions extends Pick<NodeConnectionOptions, PassedOn> {
  /**
   * The queue group of a service: its processes share requests and events. Default: the service's name. A service
   * without a name shares requests with all other services without a name, and gets every event.
   */
  readonly queue?: string | undefined
  /** The processes of the queue group that get an event that is not durable. Default: `'one-process'`. */
  readonly events?: 'one-process' | 'every-process' | undefined
  /**
   * Prefixes of the inboxes of other users, besides `_INBOX`, `_INBOX_…` and `inboxPrefix`. A service answers only to
   * subjects with one of these prefixes. Default: none.
   */
  readonly inboxPrefixes?: readonly string[] | undefined
  /** Milliseconds within which a connection must be established. Default: 10,000. */
  readonly connectTimeout?: number | undefined
  /** How durable events are stored, which needs JetStream. Default: in files, for 7 days. */
  readonly durable?: NatsDurableOptions | undefined
}

const A_PREFIX = "a subject without wildcards such as '_INBOX_orders'"

/**
 * The options of the driver, with defaults. The driver's own defaults give up after ten attempts to reconnect, and
 * notice a dead server only after minutes.
 */
const DRIVER = {
  authenticator: {},
  debug: {},
  ignoreClusterUpdates: {},
  inboxPrefix: { check: mustBe(A_PREFIX, isPrefix) },
  maxPingOut: {},
  name: {},
  noRandomize: {},
  pass: {},
  pingInterval: { byDefault: 10_000 },
  port: {},
  reconnectDelayHandler: {},
  reconnectJitter: { byDefault: 250 },
  reconnectJitterTLS: {},
  reconnectTimeWait: { byDefault: 250 },
  resolve: {},
  servers: { check: mustBe("an address such as 'nats://localhost:4222', or a list of such", isServers) },
  tls: {},
  token: {},
  user: {}
} as const satisfies OptionTable<Pick<NodeConnectionOptions, PassedOn>>

/** The table of all options. */
export const NATS_OPTIONS = {
  queue: QUEUE,
  events: EVENTS,
  inboxPrefixes: { byDefault: [], check: mustBe(`a list, each ${A_PREFIX}`, isListOfPrefixes) },
  connectTimeout: CONNECT_TIMEOUT,
  durable: {},
  ...DRIVER
} as const satisfies OptionTable<NatsOptions>

/** The checked options, with their defaults. */
export interface CheckedOptions
  extends Pick<FromTable<NatsOptions, typeof NATS_OPTIONS>, 'queue' | 'events'> {
  readonly durable: DurableStorage
  readonly connection: NodeConnectionOptions
  readonly inboxes: Inboxes
}

/**
 * Options that a user may not change: a service that has given up reconnecting would never receive a message again.
 */
const FIXED: NodeConnectionOptions = {
  reconnect: true,
  maxReconnectAttempts: -1,
  waitOnFirstConnect: false,
  ignoreAuthErrorAbort: true,
  noAsyncTraces: true
}

/** @throws {OptionError} an option is invalid */
export function natsOptions(given: NatsOptions): CheckedOptions {
  const { queue, events, durable, inboxPrefixes, connectTimeout, ...driver } = readTable(
    'options',
    given,
    NATS_OPTIONS
  )
  return {
    queue,
    events,
    durable: durableStorage(durable),
    connection: { ...withoutUndefined(driver), timeout: connectTimeout, ...FIXED },
    inboxes: new Inboxes(driver.inboxPrefix, inboxPrefixes)
  }
}

function isServers(value: unknown): boolean {
  return [value].flat().every((server) => typeof server === 'string' && server !== '')
}

function isPrefix(value: unknown): boolean {
  return typeof value === 'string' && /^[^\s*>.$]+(\.[^\s*>.$]+)*$/.test(value) && value !== '_ELYSIA'
}

function isListOfPrefixes(value: unknown): boolean {
  return Array.isArray(value) && value.every(isPrefix)
}
